import { inspect } from 'node:util';
import type {
  Informer as ClientNodeInformer,
  KubeConfig,
  KubernetesObject,
  ListPromise,
  ObjectCache,
} from '@kubernetes/client-node';
import type { KubeObject } from '../api/object.ts';
import { decodeObject, type Resource } from '../api/resource.ts';
import { Informer } from '../cache/informer.ts';
import { KubeClient } from '../client/client.ts';
import { Transport } from '../client/transport.ts';
import { systemClock as clock } from '../workqueue/clock.ts';

/** `/api/v1/…` or `/apis/<group>/<version>/…`, then `namespaces/<namespace>/` for one of them, then the plural. */
const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)$/;

/** Connections are shared by the informers of a configuration. */
const clients = new WeakMap<KubeConfig, KubeClient>();

/**
 * client-node's makeInformer(), with an informer that recovers by itself: `error` tells of a failure that is tried again,
 * and nothing has to be started again. What the path names is listed and watched; `listPromiseFn` is not called. Objects
 * are as the API server sends them, times as text, as in each event of client-node's own watch. What a callback throws
 * becomes a warning of the process.
 * @throws TypeError where the path does not name a collection.
 */
export function makeInformer<T extends KubernetesObject>(
  kubeconfig: KubeConfig,
  path: string,
  _listPromiseFn: ListPromise<T>,
  labelSelector?: string,
): ClientNodeInformer<T> & ObjectCache<T> {
  const { group = '', version = '', namespace, plural = '' } = PATH.exec(path)?.groups ?? {};
  if (plural === '') throw new TypeError(`expected a path such as /apis/apps/v1/deployments, got ${path}`);
  const resource: Resource<T & KubeObject> = {
    group,
    version,
    // Only named in messages.
    kind: plural,
    plural,
    namespaced: namespace !== undefined,
    // That the path is one of T's objects only the caller knows.
    decode: (value) => decodeObject(value) as T & KubeObject,
  };
  return new Informer({
    client: clientOf(kubeconfig),
    resource,
    namespace,
    labelSelector,
    clock,
    // As client-node does: a list, then a watch.
    watchList: false,
    onError: (error, doing) => {
      if (doing === 'handle') process.emitWarning(`a callback of the informer threw ${inspect(error)}`);
    },
  });
}

function clientOf(kubeconfig: KubeConfig): KubeClient {
  const client =
    clients.get(kubeconfig) ?? new KubeClient({ transport: new Transport(kubeconfig, clock), clock });
  clients.set(kubeconfig, client);
  return client;
}
