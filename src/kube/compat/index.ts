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

/** `/api/v1/…` or `/apis/<group>/<version>/…`, then optionally `namespaces/<namespace>/`, then the plural. */
const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)$/;

/** The informers of a configuration share connections. */
const clients = new WeakMap<KubeConfig, KubeClient>();

/**
 * client-node's makeInformer(), with an informer that retries every failure: `error` reports it, and the caller need
 * not start it again. It lists and watches the collection at the path; `listPromiseFn` is not called. Objects are as
 * the API server sends them, with times as text, as in the events of client-node's watch. If a callback throws, the
 * process emits a warning.
 * @throws TypeError if the path does not name a collection.
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
    // Used only in messages.
    kind: plural,
    plural,
    namespaced: namespace !== undefined,
    // Only the caller knows that the path has objects of type T.
    decode: (value) => decodeObject(value) as T & KubeObject,
  };
  return new Informer({
    client: clientOf(kubeconfig),
    resource,
    namespace,
    labelSelector,
    clock,
    // Like client-node: a list, then a watch.
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
