import { isDeepStrictEqual } from 'node:util';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import { asWaiting } from '../../kube/manager/managed-controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import type { Network } from '../api/types.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { addressesOn, type NetworkPod, networksOf } from '../pods/network-pods.ts';
import { GATHER_MS } from '../pods/pod-controller.ts';
import {
  MANAGED_SLICE,
  type NamedService,
  NETWORK_SLICES,
  type NetworkSlice,
  SERVICES,
} from './resources.ts';
import { networkOf, SLICE_INDEXERS, serviceOf, serviceReconcile } from './service-endpoints.ts';

export interface NetworkServicesOptions {
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
  readonly networks: Informer<Network>;
  /** With POD_INDEXERS. */
  readonly pods: Informer<NetworkPod>;
  /** Resolves when the leader knows the pods on Networks. */
  readonly after: Task;
}

const SERVICE_INDEXERS = {
  network(service: NamedService) {
    const network = networkOf(service);
    return network === undefined ? [] : [network];
  },
};

/** Sets up the controller that gives Services the addresses of pods on Networks. */
export function setUpNetworkServices(
  manager: Manager,
  { access, events, networks, pods, after }: NetworkServicesOptions,
): void {
  const controller = manager.controller('network-service');
  const services = manager.informer(SERVICES, {
    keep: ({ network }) => network !== undefined,
    indexers: SERVICE_INDEXERS,
  });
  const labelSelector = Object.entries(MANAGED_SLICE)
    .map((entry) => entry.join('='))
    .join();
  const slices = manager.informer(NETWORK_SLICES, { labelSelector, indexers: SLICE_INDEXERS });
  const gather = (key: ObjectKey) => controller.queue.addAfter(key, GATHER_MS);
  const of = (network: ObjectKey) => {
    for (const service of services.lister.byIndex('network', network)) gather(keyOf(service));
  };
  const ofPod = (pod: NetworkPod) => networksOf(pod).forEach(of);
  const ofNetwork = (network: Network) => of(keyOf(network));
  const ofService = (service: NamedService) => gather(keyOf(service));
  const ofSlice = (slice: NetworkSlice) => gather(serviceOf(slice));
  pods.addEventHandler({
    onAdd: ofPod,
    onUpdate(previous, current) {
      if (isDeepStrictEqual(named(previous), named(current))) return;
      ofPod(previous);
      ofPod(current);
    },
    onDelete: ofPod,
  });
  networks.addEventHandler({
    onAdd: ofNetwork,
    onUpdate: (_, network) => ofNetwork(network),
    onDelete: ofNetwork,
  });
  services.addEventHandler({
    onAdd: ofService,
    onUpdate: (_, service) => ofService(service),
    onDelete: ofService,
  });
  slices.addEventHandler({ onAdd: ofSlice, onUpdate: (_, slice) => ofSlice(slice), onDelete: ofSlice });
  const reconcile = serviceReconcile({
    client: manager.leaderClient,
    services: services.lister,
    networks: networks.lister,
    pods: pods.lister,
    slices: slices.lister,
    access,
    events,
  });
  controller.reconcile(reconcile, {
    waiting: (key) => asWaiting(SERVICES, services.lister.get(key)),
    keys: () => new Set([...services.lister.list().map(keyOf), ...slices.lister.list().map(serviceOf)]),
    after: async (signal) => {
      await after(signal);
      await waitForSync([services, slices], signal);
    },
  });
}

/** The part of a pod that endpoints depend on. */
function named(pod: NetworkPod): unknown {
  const { gate, labels, isReady, hostname, nodeName, metadata } = pod;
  const addresses = networksOf(pod).map((network) => [network, ...addressesOn(pod, network)]);
  return [gate, labels, isReady, hostname, nodeName, metadata.deletionTimestamp, addresses];
}
