import type { KubeObject } from '../kube/object.ts';
import { isKubeObject, type Resource } from '../kube/resource.ts';

/** core/v1 Secret: values are base64. */
export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

export const secretResource: Resource<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  narrow(value) {
    if (!isKubeObject(value)) throw new TypeError('expected a Secret with a metadata.name');
    return value;
  },
};
