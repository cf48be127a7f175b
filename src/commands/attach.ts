import { annotation } from '../inject/pod.ts';
import { isNotFound } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { type ObjectKey, splitKey } from '../kube/object.ts';
import type { Lister } from '../kube/store.ts';
import { attach, MAX_NETWORKS, networksAskedFor } from '../network/attachment/attach.ts';
import { NETWORK_ANNOTATION } from '../network/attachment/keys.ts';
import type { NetworkState } from '../network/attachment/network-state.ts';
import { NETWORKS } from '../network/resources.ts';
import type { Network } from '../network/types.ts';
import type { Attach } from '../webhook/attach-handler.ts';

export interface AttachWithOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly networks: Pick<Lister<Network>, 'get'>;
  readonly judge: (key: ObjectKey, network: Network | undefined) => NetworkState;
  readonly sharedNamespaces: readonly string[];
}

/** Attaches pods by the Networks of a cache, or where these are to be fresh, of the API server. */
export function attachWith({ client, networks, judge, sharedNamespaces }: AttachWithOptions): Attach {
  const live = (key: ObjectKey, signal: AbortSignal) =>
    client.get(NETWORKS, splitKey(key), { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  return async (pod, namespace, { fresh, signal }) => {
    const asked = fresh
      ? networksAskedFor(annotation(pod, NETWORK_ANNOTATION), namespace, sharedNamespaces)
      : [];
    // A pod with more of them is refused, whatever they are.
    const keys = asked.length > MAX_NETWORKS ? [] : asked;
    const found = new Map(
      await Promise.all(keys.map(async (key) => [key, await live(key, signal())] as const)),
    );
    const stateOf = (key: ObjectKey) => judge(key, fresh ? found.get(key) : networks.get(key));
    return attach(pod, namespace, { sharedNamespaces, stateOf });
  };
}
