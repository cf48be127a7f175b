import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { rangesOf, recordedSubnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import { addressesOn, isGated, type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { Refusal } from '../providers.ts';
import { type AddressRequest, Allocations, give, type Holder } from './allocations.ts';
import { poolsOf } from './pool.ts';

export interface IpamStateOptions {
  /** With POD_INDEXERS. */
  readonly pods: Pick<Lister<NetworkPod>, 'get' | 'byIndex'>;
  readonly networks: Pick<Lister<Network>, 'get'>;
  /** Whether the operator gives pods their addresses on the Network. */
  readonly gives: (network: Network) => boolean;
  readonly isAway: (node: string) => boolean;
  /** Called when pods that wait for an address of the Network may get it. */
  readonly onFreed: (network: ObjectKey) => void;
}

/** Addresses of a pod that the cache does not show yet. */
interface Pending {
  readonly pod: NetworkPod;
  /** With the addresses that it has. */
  readonly requests: readonly AddressRequest[];
  /** Whether the pod was missing in the cache at the last sweep. */
  isMissing?: boolean;
}

/** A pod that is gone from the API while its node did not respond: it may still run. */
interface Orphaned {
  readonly node: string;
  readonly holder: Holder;
  readonly ips: ReadonlyMap<ObjectKey, readonly string[]>;
}

/** An address that several pods have. */
export interface Conflict {
  readonly network: ObjectKey;
  readonly ip: string;
  readonly others: readonly NetworkPod[];
}

/**
 * The addresses of all Networks. They follow from pods alone: those of a Network are read from the cache when they are
 * first needed, and follow its changes. In addition, it knows what this process has given and the cache does not show yet.
 */
export class IpamState {
  readonly #options: IpamStateOptions;
  readonly #allocations = new Map<ObjectKey, { readonly shape: string; readonly allocations: Allocations }>();
  /** By the UID of the pod. */
  readonly #pending = new Map<string, Pending>();
  readonly #orphaned = new Map<string, Orphaned>();

  constructor(options: IpamStateOptions) {
    this.#options = options;
  }

  /** The allocations of a Network; undefined if the operator gives no addresses on it. */
  of(key: ObjectKey): Allocations | undefined {
    const network = this.#options.networks.get(key);
    const subnet = network && recordedSubnet(network);
    if (!subnet || !this.#options.gives(network)) {
      this.#allocations.delete(key);
      return undefined;
    }
    const shape = JSON.stringify([rangesOf(subnet), network.spec.exclude]);
    const known = this.#allocations.get(key);
    if (known?.shape === shape) return known.allocations;
    const allocations = new Allocations(poolsOf(subnet, network.spec.exclude));
    this.#allocations.set(key, { shape, allocations });
    this.#fill(key, allocations);
    return allocations;
  }

  /** How many addresses pods can have on a Network, and have; undefined if the operator gives none on it. */
  countsOf(key: ObjectKey): { readonly taken: number; readonly total: number } | undefined {
    const allocations = this.of(key);
    // Most Networks have no pods. It is quick to make them again.
    if (allocations?.isUnused && this.#pending.size + this.#orphaned.size === 0)
      this.#allocations.delete(key);
    return allocations?.counts;
  }

  /** Gives a pod all that it wants, or nothing. Returns the requests with the addresses that it has. */
  allocate(pod: NetworkPod, requests: readonly AddressRequest[]): readonly AddressRequest[] | Refusal {
    const { uid = '' } = pod.metadata;
    const earlier = this.#pending.get(uid)?.requests ?? [];
    const filled: AddressRequest[] = [];
    for (const request of requests) {
      const { index, network } = request;
      const allocations = this.of(network);
      // The range may have changed since.
      const isOf = (before: AddressRequest) =>
        before.index === index &&
        before.network === network &&
        before.ips.every((ip) => allocations?.problemOf(ip) === undefined);
      const kept = request.ips.length === 0 ? earlier.find(isOf) : undefined;
      const ips = kept?.ips ?? (allocations && give(allocations, holderOf(pod), request)) ?? [];
      if ('why' in ips) {
        for (const key of new Set(requests.map((each) => each.network))) this.#record(key, pod);
        return ips;
      }
      filled.push({ index, network, ips });
    }
    if (filled.length > 0) this.#pending.set(uid, { pod, requests: filled });
    return filled;
  }

  /** Call it for each event that adds or changes a pod. */
  changed(pod: NetworkPod, previous: NetworkPod = pod): void {
    const current = this.#current(pod);
    // A deletion follows.
    if (!current) return;
    this.#settle(current);
    for (const network of new Set([...networksOf(previous), ...networksOf(current)])) {
      this.#record(network, current);
      const kept = addressesOn(current, network);
      if ([...addressesOn(previous, network)].some((ip) => !kept.has(ip))) this.#options.onFreed(network);
    }
  }

  deleted(pod: NetworkPod): void {
    const { uid = '' } = pod.metadata;
    const { nodeName } = pod;
    const ips = new Map(this.#networksOf(pod).map((network) => [network, this.#addresses(pod, network)]));
    this.#pending.delete(uid);
    if (nodeName === undefined || !this.#options.isAway(nodeName)) {
      this.#release(uid, ips.keys());
      return;
    }
    const holder = { id: uid, name: `deleted ${nameOf(pod)}, whose node ${nodeName} does not respond` };
    this.#orphaned.set(uid, { node: nodeName, holder, ips });
    for (const [network, held] of ips) this.#allocations.get(network)?.allocations.hold(holder, held);
  }

  /** Frees what orphaned pods on a node had, when the node is ready again, or gone. */
  nodeChanged(node: string): void {
    if (this.#options.isAway(node)) return;
    for (const [uid, orphaned] of this.#orphaned) {
      if (orphaned.node !== node) continue;
      this.#orphaned.delete(uid);
      this.#release(uid, orphaned.ips.keys());
    }
  }

  /**
   * Records pods as the API server has them, which the cache may not have yet. What was pending before is among them, or
   * was never stored.
   */
  listed(pods: Iterable<NetworkPod>): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { pod, requests } of pending) {
      const current = this.#current(pod);
      for (const { network } of requests) {
        if (current) this.#record(network, current);
        else this.#allocations.get(network)?.allocations.release(pod.metadata.uid ?? '');
      }
    }
    for (const pod of pods) {
      const { uid = '', resourceVersion } = pod.metadata;
      if (isGated(pod) || this.#current(pod)?.metadata.resourceVersion === resourceVersion) continue;
      // None of these is at a place of the annotation.
      const requests = networksOf(pod)
        .map((network) => ({ index: -1, network, ips: [...addressesOn(pod, network)] }))
        .filter(({ ips }) => ips.length > 0);
      this.#pending.set(uid, { pod, requests });
      this.changed(this.#current(pod) ?? pod);
      for (const { network } of requests) this.#record(network, pod);
    }
  }

  /** Forgets what the cache has not shown for two sweeps: it was deleted before it could. */
  sweep(): void {
    for (const pending of [...this.#pending.values()]) {
      const wasMissing = pending.isMissing;
      pending.isMissing = this.#current(pending.pod) === undefined;
      if (wasMissing && pending.isMissing) this.deleted(pending.pod);
    }
  }

  /** The addresses of the pod that others have, too. */
  conflictsOf(pod: NetworkPod): readonly Conflict[] {
    const { uid = '' } = pod.metadata;
    const othersWith = (network: ObjectKey, ip: string) =>
      (this.of(network)?.holdersOf(ip) ?? []).flatMap(({ id, pod: key }) => {
        const other = key === undefined || id === uid ? undefined : this.#options.pods.get(key);
        return other?.metadata.uid === id ? [other] : [];
      });
    return networksOf(pod)
      .flatMap((network) => [...addressesOn(pod, network)].map((ip) => ({ network, ip })))
      .map(({ network, ip }) => ({ network, ip, others: othersWith(network, ip) }))
      .filter(({ others }) => others.length > 0);
  }

  #fill(key: ObjectKey, allocations: Allocations): void {
    const { pods } = this.#options;
    for (const pod of [...pods.byIndex('user', key), ...pods.byIndex('gated', key)]) this.#record(key, pod);
    for (const { pod } of this.#pending.values()) if (!this.#current(pod)) this.#record(key, pod);
    for (const { holder, ips } of this.#orphaned.values()) allocations.hold(holder, ips.get(key) ?? []);
  }

  #record(network: ObjectKey, pod: NetworkPod): void {
    const allocations = this.#allocations.get(network)?.allocations;
    if (!allocations) return;
    const { uid = '' } = pod.metadata;
    const pending = this.#pendingOn(uid, network);
    const asks = isGated(pod) && pending.length === 0;
    allocations.hold({ ...holderOf(pod), ...(asks && { asks }) }, this.#addresses(pod, network));
  }

  #addresses(pod: NetworkPod, network: ObjectKey): readonly string[] {
    return [...addressesOn(pod, network), ...this.#pendingOn(pod.metadata.uid ?? '', network)];
  }

  #pendingOn(uid: string, network: ObjectKey): readonly string[] {
    const { requests = [] } = this.#pending.get(uid) ?? {};
    return requests.flatMap((request) => (request.network === network ? request.ips : []));
  }

  /** Forgets what was pending to the pod where the cache shows it. */
  #settle(pod: NetworkPod): void {
    const { uid = '' } = pod.metadata;
    const pending = this.#pending.get(uid);
    if (!pending || isGated(pod)) return;
    const open = pending.requests.filter(
      ({ network }) => pod.lacks.includes(network) && addressesOn(pod, network).size === 0,
    );
    if (open.length === 0) this.#pending.delete(uid);
    else this.#pending.set(uid, { ...pending, requests: open });
  }

  /** The pod as the cache has it; undefined if it has none, or another one of the same name. */
  #current(pod: NetworkPod): NetworkPod | undefined {
    const cached = this.#options.pods.get(keyOf(pod));
    return cached?.metadata.uid === pod.metadata.uid ? cached : undefined;
  }

  #networksOf(pod: NetworkPod): readonly ObjectKey[] {
    const { requests = [] } = this.#pending.get(pod.metadata.uid ?? '') ?? {};
    return [...new Set([...networksOf(pod), ...requests.map(({ network }) => network)])];
  }

  #release(uid: string, networks: Iterable<ObjectKey>): void {
    for (const network of networks) {
      this.#allocations.get(network)?.allocations.release(uid);
      this.#options.onFreed(network);
    }
  }
}

function holderOf(pod: NetworkPod): Holder {
  return { id: pod.metadata.uid ?? '', name: nameOf(pod), pod: keyOf(pod) };
}

function nameOf(pod: NetworkPod): string {
  return `pod ${keyOf(pod)}`;
}
