import { ENDPOINT_SLICES } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import { decodeObject, kindOf, type Resource } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import { informerIfServed } from '../../kube/manager/if-served.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import { own, ownObjects, ownTexts } from '../../util/json.ts';
import type { ClusterRanges } from './cluster-ranges.ts';

/** The cached part of an object that has address ranges. */
interface RangeHolder extends KubeObject {
  readonly cidrs: readonly string[];
}

/** networking.k8s.io/v1 ServiceCIDR, of Kubernetes 1.33 and newer. */
const SERVICE_CIDRS: Resource<RangeHolder> = {
  ...kindOf('networking.k8s.io/v1', 'ServiceCIDR', false),
  decode: (value) => ({
    metadata: identityOf(decodeObject(value)),
    cidrs: ownTexts(own(value, 'spec'), 'cidrs'),
  }),
};

/** discovery.k8s.io/v1 EndpointSlice. Its addresses are ranges of one address. */
const ENDPOINT_ADDRESSES: Resource<RangeHolder> = {
  ...ENDPOINT_SLICES,
  decode: (value) => ({
    metadata: identityOf(decodeObject(value)),
    cidrs: ownObjects(value, 'endpoints').flatMap((endpoint) => ownTexts(endpoint, 'addresses')),
  }),
};

/** The EndpointSlice of the API servers. */
const API_SERVER = { namespace: 'default', fieldSelector: 'metadata.name=kubernetes' };

/**
 * Watches the ranges of Services and of the API server. Returns what resolves when all available ones are known, or the
 * signal aborts.
 */
export function rangeSources(manager: Manager, ranges: ClusterRanges): Task {
  // Before Kubernetes 1.33, ServiceCIDRs do not exist.
  const services = informerIfServed(manager, SERVICE_CIDRS);
  const apiServer = manager.informer(ENDPOINT_ADDRESSES, API_SERVER);
  for (const [of, informer] of [
    ['the Services', services.informer],
    ['the API server', apiServer],
  ] as const) {
    const cidrs = () => informer.lister.list().flatMap((holder) => holder.cidrs);
    const changed = () => ranges.set(of, cidrs());
    informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  }
  return (signal) => Promise.all([services.known(signal), waitForSync([apiServer], signal)]);
}
