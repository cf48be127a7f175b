import type { KubeObject } from '../kube/api/object.ts';
import { decodeObject, type Resource } from '../kube/api/resource.ts';

/** A kind of objects that a command reads or deletes without a look into them. Its plural is regular. */
export function kindOf(apiVersion: string, kind: string, namespaced = true): Resource<KubeObject> {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
  return { group, version, kind, plural, namespaced, decode: decodeObject };
}
