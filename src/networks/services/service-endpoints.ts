import { isDeepStrictEqual } from 'node:util';
import type { V1Endpoint } from '@kubernetes/client-node';
import { isAlreadyExists, isConflict, isNotFound } from '../../kube/api/api-error.ts';
import { keyOf, type ObjectKey, refOf } from '../../kube/api/object.ts';
import { apiVersionOf, regardingOf } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Result } from '../../kube/controller/controller.ts';
import type { EventDetails } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { Allocations } from '../addresses/allocations.ts';
import { poolsOf } from '../addresses/pool.ts';
import { FIELD_MANAGER, NETWORK_ANNOTATION, SELECTOR_ANNOTATION } from '../api/names.ts';
import { recordedSubnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import { GATHER_MS, type PodControllerOptions } from '../attach/pod-controller.ts';
import { addressesOn, type NetworkPod, networksOf } from '../pods/network-pods.ts';
import {
  MANAGED_BY,
  type NamedService,
  NETWORK_SLICES,
  type NetworkSlice,
  parseSelector,
  SERVICE_LABEL,
  SERVICES,
  type Slice,
  sliced,
} from './slices.ts';

export type NetworkServicesOptions = Pick<
  PodControllerOptions,
  'access' | 'events' | 'networks' | 'pods' | 'after'
>;

export function setUpNetworkServices(manager: Manager, options: NetworkServicesOptions): void {
  const { events, networks, pods } = options;
  const controller = manager.controller('network-service');
  const services = manager.informer(SERVICES, {
    keep: ({ network }) => network !== undefined,
    indexers: { network: ({ network = '' }) => [network] },
  });
  const slices = manager.informer(NETWORK_SLICES, {
    labelSelector: `${MANAGED_BY}=${FIELD_MANAGER}`,
    indexers: { service: (slice) => [serviceOf(slice)] },
  });
  const gather = (service: ObjectKey) => controller.queue.addAfter(service, GATHER_MS);
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
      ofPod(previous);
      ofPod(current);
    },
    onDelete: ofPod,
  });
  networks.addEventHandler({ onAdd: ofNetwork, onUpdate: (_, one) => ofNetwork(one), onDelete: ofNetwork });
  services.addEventHandler({ onAdd: ofService, onUpdate: (_, one) => ofService(one), onDelete: ofService });
  slices.addEventHandler({ onAdd: ofSlice, onUpdate: (_, one) => ofSlice(one), onDelete: ofSlice });

  async function reconcile(service: ObjectKey, signal: AbortSignal): Promise<Result> {
    const found = services.lister.get(service);
    const present = slices.lister.byIndex('service', service);
    const wanted: Wanted = found ? wantedOf(found, options) : { slices: [] };
    if (found && wanted.told) events.event(regardingOf(SERVICES, found), { ...wanted.told, action: 'Name' });
    try {
      await writeSlices(manager.leaderClient, found, present, wanted.slices, signal);
    } catch (error) {
      // The cache will get the newer slice.
      if (!(isConflict(error) || isNotFound(error) || isAlreadyExists(error))) throw error;
      return { requeueAfterMs: 1_000 };
    }
    return {};
  }

  controller.reconcile(reconcile, {
    waiting: (service) => regardingOf(SERVICES, services.lister.get(service)),
    keys: () => new Set([...services.lister.list().map(keyOf), ...slices.lister.list().map(serviceOf)]),
    after: async (signal) => {
      await options.after(signal);
      await waitForSync([services, slices], signal);
    },
  });
}

function serviceOf({ metadata }: NetworkSlice): ObjectKey {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_LABEL]}`;
}

/** Writes the wanted slices of a Service, and deletes the others. Without the Service, none is wanted. */
async function writeSlices(
  client: Pick<KubeClient, 'create' | 'mergePatch' | 'delete'>,
  service: NamedService | undefined,
  present: readonly NetworkSlice[],
  wanted: readonly Slice[],
  signal: AbortSignal,
): Promise<void> {
  for (const slice of wanted) {
    if (!service) break;
    const { name, endpoints } = slice;
    const found = present.find(({ metadata }) => metadata.name === name);
    if (!found) {
      await client.create(NETWORK_SLICES, newSlice(service, slice), { signal });
    } else if (!isDeepStrictEqual([found.endpoints, found.ports], [endpoints, service.ports])) {
      const { resourceVersion } = found.metadata;
      const patch = { metadata: { resourceVersion }, endpoints, ports: service.ports };
      await client.mergePatch(NETWORK_SLICES, refOf(found), patch, { signal });
    }
  }
  for (const slice of present) {
    if (wanted.some(({ name }) => name === slice.metadata.name)) continue;
    const preconditions = { uid: slice.metadata.uid };
    await client.delete(NETWORK_SLICES, refOf(slice), { preconditions, signal });
  }
}

function newSlice({ metadata, ports }: NamedService, { name, ...content }: Slice) {
  const { name: service, namespace, uid = '' } = metadata;
  const owner = {
    ...{ apiVersion: apiVersionOf(SERVICES), kind: SERVICES.kind },
    ...{ name: service, uid, controller: true },
  };
  const labels = {
    [MANAGED_BY]: FIELD_MANAGER,
    [SERVICE_LABEL]: service,
    'service.kubernetes.io/headless': '',
  };
  return {
    apiVersion: apiVersionOf(NETWORK_SLICES),
    kind: NETWORK_SLICES.kind,
    metadata: { name, namespace, labels, ownerReferences: [owner] },
    ...content,
    ports,
  };
}

/** What a Service should have, and what to tell its author. */
interface Wanted {
  readonly slices: readonly Slice[];
  readonly told?: Pick<EventDetails, 'type' | 'reason' | 'note'>;
}

function wantedOf(service: NamedService, { pods, networks, access }: NetworkServicesOptions): Wanted {
  const { network } = service;
  const { name, namespace = '' } = service.metadata;
  if (network === undefined) return { slices: [] };
  const invalid = (note: string): Wanted => ({
    slices: [],
    told: { type: 'Warning', reason: 'InvalidNetworkAnnotation', note },
  });
  if (!service.isFree) {
    return invalid(
      `has ${NETWORK_ANNOTATION}, but must be headless, without a selector: recreate it with clusterIP None, and the selector in ${SELECTOR_ANNOTATION}`,
    );
  }
  if (!access.allows(namespace, network)) {
    return invalid(
      `names Network ${network}, which namespace ${namespace} may not use: name one in ${namespace}`,
    );
  }
  const selector = parseSelector(service.selector ?? '');
  if (!selector) return invalid(`has no valid ${SELECTOR_ANNOTATION}: use labels such as app=web,tier=front`);
  const found = networks.lister.get(network);
  if (!found) {
    const note = `waiting for its Network: Network ${network} does not exist`;
    return { slices: [], told: { type: 'Normal', reason: 'WaitsForNetwork', note } };
  }
  const plainOf = plainAddresses(found);
  const endpoints = pods.lister
    .byIndex('user', network)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .filter(({ labels }) => [...selector].every(([key, value]) => labels[key] === value))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .flatMap((pod) => endpointsOf(pod, network, service, plainOf));
  return { slices: sliced(name, endpoints) };
}

/**
 * Returns the form of an address that the API server accepts; undefined if it cannot be that of a pod on the Network. Users
 * can write any address into annotations of pods, and a Service must not send to nodes and to pods of others.
 */
function plainAddresses(network: Network): (address: string) => string | undefined {
  const subnet = recordedSubnet(network);
  if (!subnet) return () => undefined;
  const allocations = new Allocations(poolsOf(subnet, network.spec.exclude));
  return (address) => allocations.plainOf(address);
}

function endpointsOf(
  pod: NetworkPod,
  network: ObjectKey,
  service: NamedService,
  plainOf: (address: string) => string | undefined,
): readonly V1Endpoint[] {
  const { name, namespace = '', uid = '', deletionTimestamp } = pod.metadata;
  const terminating = deletionTimestamp !== undefined;
  const conditions = {
    ready: service.publishesNotReady || (pod.isReady && !terminating),
    serving: pod.isReady,
    terminating,
  };
  const addresses = new Set([...addressesOn(pod, network)].flatMap((address) => plainOf(address) ?? []));
  return [...addresses].map((address) => ({
    addresses: [address],
    conditions,
    ...(pod.hostname !== undefined && { hostname: pod.hostname }),
    ...(pod.nodeName !== undefined && { nodeName: pod.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }));
}
