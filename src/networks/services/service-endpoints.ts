import { isDeepStrictEqual } from 'node:util';
import { isAlreadyExists, isConflict, isNotFound } from '../../kube/api/api-error.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import { AddressBook } from '../addresses/book.ts';
import { poolsOf } from '../addresses/pool.ts';
import { FIELD_MANAGER, NETWORK_ANNOTATION, SELECTOR_ANNOTATION } from '../api/names.ts';
import { recordedSubnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { addressesOn, type NetworkPod } from '../pods/network-pods.ts';
import {
  type Endpoint,
  MANAGED_SLICE,
  type NamedService,
  NETWORK_SLICES,
  type NetworkSlice,
  SERVICE_LABEL,
  SERVICES,
} from './resources.ts';
import { parseSelector, type Slice, sliced } from './slices.ts';

export interface ServiceEndpointsOptions {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch' | 'delete'>;
  readonly services: Pick<Lister<NamedService>, 'get'>;
  readonly networks: Pick<Lister<Network>, 'get'>;
  /** With POD_INDEXERS. */
  readonly pods: Pick<Lister<NetworkPod>, 'byIndex'>;
  /** With SLICE_INDEXERS. */
  readonly slices: Pick<Lister<NetworkSlice>, 'byIndex'>;
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
}

/** Finds the slices of a Service in a cache. */
export const SLICE_INDEXERS = { service: (slice: NetworkSlice) => [serviceOf(slice)] };

/** The key of the Service of a slice. */
export function serviceOf({ metadata }: NetworkSlice): ObjectKey {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_LABEL]}`;
}

/** The key of the Network whose pods the Service names; undefined if it names none. */
export function networkOf({ metadata, network }: NamedService): ObjectKey | undefined {
  if (network === undefined) return undefined;
  return network.includes('/') ? network : `${metadata.namespace}/${network}`;
}

/** Returns the reconcile of Services: it writes the addresses of pods on a Network into EndpointSlices. */
export function serviceReconcile(options: ServiceEndpointsOptions): Reconcile {
  const { client, services, slices, events } = options;
  const writeOptions = (signal: AbortSignal) => ({ fieldManager: FIELD_MANAGER, signal });

  async function write(
    service: NamedService,
    slice: Slice,
    present: NetworkSlice | undefined,
    signal: AbortSignal,
  ) {
    const { name, namespace, uid = '' } = service.metadata;
    const { ports } = service;
    const { endpoints, addressType } = slice;
    if (!present) {
      const owner = { apiVersion: apiVersionOf(SERVICES), kind: SERVICES.kind, name, uid, controller: true };
      const labels = { ...MANAGED_SLICE, [SERVICE_LABEL]: name, 'service.kubernetes.io/headless': '' };
      const metadata = { name: slice.name, namespace, labels, ownerReferences: [owner] };
      const object = {
        apiVersion: apiVersionOf(NETWORK_SLICES),
        kind: NETWORK_SLICES.kind,
        metadata,
        ...{ addressType, endpoints, ports },
      };
      await client.create(NETWORK_SLICES, object, writeOptions(signal));
      return;
    }
    if (isDeepStrictEqual([present.endpoints, present.ports ?? []], [endpoints, ports])) return;
    const { resourceVersion } = present.metadata;
    const patch = { metadata: { resourceVersion }, endpoints, ports };
    await client.mergePatch(NETWORK_SLICES, refOf(present), patch, writeOptions(signal));
  }

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const service = services.get(key);
    const present = slices.byIndex('service', key);
    const wanted: Wanted = service ? wantedOf(service, present, options) : { slices: [] };
    const note = 'problem' in wanted ? wanted.problem : wanted.waits;
    if (service && note !== undefined) {
      const regarding = {
        apiVersion: apiVersionOf(SERVICES),
        kind: SERVICES.kind,
        metadata: service.metadata,
      };
      const details =
        'problem' in wanted
          ? ({ type: 'Warning', reason: 'InvalidNetworkAnnotation' } as const)
          : ({ type: 'Normal', reason: 'WaitsForNetwork' } as const);
      events.event(regarding, { ...details, action: 'Name', note });
    }
    const all = 'slices' in wanted ? wanted.slices : [];
    for (const slice of all) {
      if (!service) continue;
      const found = present.find(({ metadata }) => metadata.name === slice.name);
      await write(service, slice, found, signal);
    }
    for (const slice of present) {
      if (all.some(({ name }) => name === slice.metadata.name)) continue;
      await client.delete(NETWORK_SLICES, refOf(slice), {
        preconditions: { uid: slice.metadata.uid },
        signal,
      });
    }
  }

  return async (key, signal) => {
    try {
      await reconcile(key, signal);
    } catch (error) {
      // The cache will get the newer slice.
      if (!(isConflict(error) || isNotFound(error) || isAlreadyExists(error))) throw error;
      return { requeueAfterMs: 1_000 };
    }
    return {};
  };
}

/** What a Service should have. `waits`: why it has no slices yet. `problem`: why it cannot have any. */
type Wanted = { readonly slices: readonly Slice[]; readonly waits?: string } | { readonly problem: string };

function wantedOf(
  service: NamedService,
  present: readonly NetworkSlice[],
  { pods, networks, access }: ServiceEndpointsOptions,
): Wanted {
  const network = networkOf(service);
  const { name, namespace = '' } = service.metadata;
  if (network === undefined) return { slices: [] };
  if (!service.isFree) {
    const problem = `has ${NETWORK_ANNOTATION}, but is not headless without a selector: set clusterIP to None, and write the selector into ${SELECTOR_ANNOTATION}`;
    return { problem };
  }
  if (!access.allows(namespace, network)) {
    return {
      problem: `names Network ${network}, which namespace ${namespace} may not use: name one of its own`,
    };
  }
  const selector = parseSelector(service.selector ?? '');
  if (!selector)
    return { problem: `has no valid ${SELECTOR_ANNOTATION}: write labels such as app=web,tier=front` };
  const found = networks.get(network);
  if (!found) return { slices: [], waits: `waits for its Network: Network ${network} does not exist` };
  const plainOf = plainAddresses(found);
  const endpoints = pods
    .byIndex('user', network)
    .filter(({ metadata }) => metadata.namespace === namespace)
    .filter(({ labels }) => [...selector].every(([key, value]) => labels[key] === value))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .flatMap((pod) => endpointsOf(pod, network, service, plainOf));
  const known = present.map(({ metadata, addressType = '', endpoints: before }) => ({
    name: metadata.name,
    addressType,
    endpoints: before ?? [],
  }));
  const isSix = ({ addresses: [first = ''] }: Endpoint) => first.includes(':');
  const [four, six] = [endpoints.filter((each) => !isSix(each)), endpoints.filter(isSix)];
  return { slices: [...sliced(name, 'IPv4', four, known), ...sliced(name, 'IPv6', six, known)] };
}

/**
 * Returns the form of an address that the API server accepts; undefined if it cannot be that of a pod on the Network. Users
 * can write any address into annotations of pods, and a Service must not send to nodes and to pods of others.
 */
function plainAddresses(network: Network): (address: string) => string | undefined {
  const subnet = recordedSubnet(network);
  if (!subnet) return () => undefined;
  const book = new AddressBook(poolsOf(subnet, network.spec.exclude));
  return (address) => book.plainOf(address);
}

function endpointsOf(
  pod: NetworkPod,
  network: ObjectKey,
  service: NamedService,
  plainOf: (address: string) => string | undefined,
): readonly Endpoint[] {
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

function refOf({ metadata: { name, namespace } }: NetworkSlice) {
  return { name, namespace };
}
