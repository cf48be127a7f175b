import { annotation } from '../../injection/podspec/pod.ts';
import { keyOf, type ObjectKey, splitKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { RateLimitedSingleflight } from '../../kube/util/rate-limited-singleflight.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { NETWORK_ANNOTATION } from '../api/names.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { attach, MAX_NETWORKS, networksAskedFor } from './attach.ts';
import type { NetworkAccess } from './network-access.ts';
import type { NetworkState } from './network-state.ts';
import type { Attach } from './webhook.ts';

export interface AttachWithOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly networks: Pick<Lister<Network>, 'get'>;
  readonly judge: (key: ObjectKey, network: Network | undefined) => NetworkState;
  readonly access: NetworkAccess;
}

/** Limits the lists of Networks that are read before a refusal. */
const LISTS = { perSecond: 10, burst: 20 };

/** Returns a function that attaches pods with the Networks of a cache or, for `fresh`, of the API server. */
export function attachWith({ client, clock, networks, judge, access }: AttachWithOptions): Attach {
  const lists = new RateLimitedSingleflight<readonly Network[]>({
    ...LISTS,
    clock,
    async ask(namespace, signal) {
      const { items } = await client.list(NETWORKS, { namespace, signal }, NETWORKS.decode);
      return items;
    },
  });
  return async (pod, namespace, { fresh, signal }) => {
    const annotated = fresh ? annotation(pod, NETWORK_ANNOTATION) : undefined;
    const named = networksAskedFor(annotated, namespace, access);
    // A pod with too many Networks is refused without a look at them.
    const keys = named.length > MAX_NETWORKS ? [] : named;
    const namespaces = new Set(keys.map((key) => splitKey(key).namespace ?? ''));
    const listed = await Promise.all([...namespaces].map((each) => lists.get(each, signal())));
    const found = new Map(listed.flat().map((network) => [keyOf(network), network]));
    const stateOf = (key: ObjectKey) => judge(key, fresh ? found.get(key) : networks.get(key));
    return attach(pod, namespace, { access, stateOf });
  };
}
