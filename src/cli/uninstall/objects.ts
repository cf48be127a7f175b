import type { KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { KubeClient, ListOptions } from '../../kube/client/client.ts';
import { PROGRAM } from '../../util/identity.ts';
import { kindOf } from '../kind-of.ts';
import { absentIfMissing } from '../readable.ts';

/** A kind of objects to delete, of which only the metadata is read. */
export function metadataOf(...kind: Parameters<typeof kindOf>): Resource<KubeObject> {
  return { ...kindOf(...kind), metadataOnly: true };
}

export const NAMESPACE = metadataOf('v1', 'Namespace', false);

/** Selects the objects of the manifests, and those that the operator creates. */
export const OURS = { labelSelector: `app=${PROGRAM}` };

/** Whether an object is one of them. */
export function isOwn({ metadata }: KubeObject): boolean {
  return metadata.labels?.app === PROGRAM;
}

/** The objects of a kind; none if the cluster does not have the kind. */
export async function objectsOf(
  client: KubeClient,
  resource: Resource<KubeObject>,
  options: ListOptions = {},
): Promise<readonly KubeObject[]> {
  const found = await absentIfMissing(client.list(resource, options, (item) => resource.decode(item)));
  return found?.items ?? [];
}

/** The object, or undefined if it does not exist. */
export async function objectOf<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource<T>,
  ref: { readonly namespace?: string; readonly name: string },
): Promise<T | undefined> {
  return await absentIfMissing(client.get(resource, ref));
}

/** Such as `pod default/web` or `clusterrole envoy-initializer`. */
export function nameOf({ kind }: Resource<KubeObject>, { metadata }: KubeObject): string {
  const { namespace, name } = metadata;
  return `${kind.toLowerCase()} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** `a, b and 3 more` */
export function listed(names: readonly string[], limit = 5): string {
  const some = names.slice(0, limit).join(', ');
  return names.length > limit ? `${some} and ${names.length - limit} more` : some;
}
