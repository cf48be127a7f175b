import type { ConfigMap } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { failure } from './scripted-server.ts';

export { CONFIG_MAPS as configMaps, type ConfigMap } from '../../../src/kube/api/core-resources.ts';

/** A ConfigMap of the namespace `shop`, whose UID is its name unless given. */
export function configMap(name: string, resourceVersion: number, metadata: object = {}): ConfigMap {
  return {
    metadata: { namespace: 'shop', name, uid: name, resourceVersion: `${resourceVersion}`, ...metadata },
  };
}

export function listOf(resourceVersion: number, items: readonly unknown[], token?: string): object {
  const metadata = { resourceVersion: `${resourceVersion}`, ...(token && { continue: token }) };
  return { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items };
}

export const added = (object: KubeObject) => ({ type: 'ADDED', object });
export const modified = (object: KubeObject) => ({ type: 'MODIFIED', object });
export const deleted = (object: KubeObject) => ({ type: 'DELETED', object });
export const failed = (code: number, status: object = {}) => ({
  type: 'ERROR',
  object: failure(code, status),
});

export function bookmark(resourceVersion: number): object {
  return {
    type: 'BOOKMARK',
    object: { kind: 'ConfigMap', metadata: { resourceVersion: `${resourceVersion}` } },
  };
}
