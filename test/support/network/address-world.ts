import { applyPatch, type Operation } from 'fast-json-patch';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import type { ObjectRef } from '../../../src/kube/client/client.ts';
import { IpamState } from '../../../src/networks/addresses/ipam-state.ts';
import type { Subnet } from '../../../src/networks/api/subnet.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { NetworkUsers } from '../../../src/networks/attach/network-users.ts';
import { PodAddresses } from '../../../src/networks/attach/pod-addresses.ts';
import { PodGates } from '../../../src/networks/attach/pod-gates.ts';
import { OPEN_ACCESS } from '../../../src/networks/pods/network-access.ts';
import {
  addressesOn,
  isGated,
  isRelevant,
  type NetworkPod,
  networkPods,
  POD_INDEXERS,
} from '../../../src/networks/pods/network-pods.ts';

const GATE = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const KEY = 'default/blue';
const PODS = networkPods(OPEN_ACCESS);
const { signal } = new AbortController();

/** What happens to a write: it is lost before or after its effect, or other things happen first. */
export type Fate = 'done' | 'dropped' | 'answer lost' | (() => Promise<void>);

interface ApiPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulingGates: readonly { readonly name: string }[];
  };
}

/** An event of a watch: without a pod, the one of this key is deleted. */
type WatchEvent = { readonly key: string; readonly pod?: ApiPod };

/** An API server with pods on one Network, and replicas of the operator whose caches lag behind it. */
export class AddressWorld {
  readonly network: Network;
  readonly pods = new Map<string, ApiPod>();
  /** Addresses of pods that all replicas knew, and that were deleted while their node did not respond, by node. */
  readonly lost = new Map<string, string[]>();
  readonly events: WatchEvent[] = [];
  readonly away = new Set<string>();
  readonly notices: string[] = [];
  fate: Fate = 'done';
  /** Where the scheduler puts a pod without a gate. */
  readonly #nodes = new Map<string, string>();
  #version = 0;
  #leader: Replica;
  readonly replicas: readonly Replica[];

  constructor(ranges: Subnet & Pick<Network['spec'], 'exclude'>) {
    this.network = {
      metadata: { name: 'blue', namespace: 'default', uid: 'blue' },
      spec: ranges,
      status: { ...ranges, provider: 'multus' },
    };
    this.replicas = [new Replica(this), new Replica(this)];
    this.#leader = this.replicas[0] ?? new Replica(this);
  }

  get leader(): Replica {
    return this.#leader;
  }

  /** A replica begins a term, the same one again or another. */
  lead(index: number): void {
    this.#leader.addresses.forget();
    this.#leader = this.replicas[index % this.replicas.length] ?? this.#leader;
  }

  create(
    name: string,
    { ips, isGated, node }: { ips?: readonly string[]; isGated: boolean; node: string },
  ): void {
    const key = `default/${name}`;
    if (this.pods.has(key)) return;
    this.#nodes.set(key, node);
    const text = ips ? JSON.stringify([{ name: 'blue', ips }]) : 'blue';
    const annotations = { [MULTUS]: text, ...(isGated && { [GATE]: text }) };
    this.#store(key, {
      metadata: { name, namespace: 'default', uid: `u${this.#version}`, resourceVersion: '', annotations },
      spec: { schedulingGates: isGated ? [{ name: GATE }] : [] },
    });
  }

  delete(name: string): void {
    const key = `default/${name}`;
    const pod = this.pods.get(key);
    if (!pod) return;
    this.pods.delete(key);
    this.events.push({ key });
    const { nodeName = '' } = pod.spec;
    // A replica that has not seen the addresses cannot keep them.
    const isSeen = this.replicas.every(({ pods }) => {
      const cached = pods.get(key);
      return (
        cached?.metadata.uid === pod.metadata.uid && addressesOn(cached, KEY).size > 0 && !isGated(cached)
      );
    });
    if (!this.away.has(nodeName) || !isSeen) return;
    this.lost.set(nodeName, [...(this.lost.get(nodeName) ?? []), ...addressesOf(pod)]);
  }

  goAway(node: string): void {
    this.away.add(node);
  }

  comeBack(node: string): void {
    this.away.delete(node);
    this.lost.delete(node);
    for (const { ipam } of this.replicas) ipam.nodeChanged(node);
  }

  /** Every address of a live pod without a gate, and of lost pods; one twice if two have it. */
  inUse(): readonly string[] {
    return [...[...this.pods.values()].flatMap(addressesOf), ...[...this.lost.values()].flat()];
  }

  async patchPod(key: string, operations: readonly Operation[]): Promise<ApiPod> {
    return this.#write(() => {
      const pod = this.pods.get(key);
      if (!pod) throw refusal(404);
      let patched: ApiPod;
      try {
        patched = applyPatch(structuredClone(pod), structuredClone([...operations]), true).newDocument;
      } catch {
        throw refusal(422);
      }
      return this.#store(key, patched);
    });
  }

  async #write<T>(effect: () => T): Promise<T> {
    const fate = this.fate;
    this.fate = 'done';
    if (fate === 'dropped') throw refusal(500);
    if (typeof fate === 'function') await fate();
    const result = effect();
    if (fate === 'answer lost') throw refusal(500);
    return result;
  }

  #store(key: string, pod: ApiPod): ApiPod {
    this.#version += 1;
    const isGated = pod.spec.schedulingGates.length > 0;
    const stored = {
      metadata: { ...pod.metadata, resourceVersion: `${this.#version}` },
      spec: isGated ? pod.spec : { ...pod.spec, nodeName: this.#nodes.get(key) ?? '' },
    };
    this.pods.set(key, stored);
    this.events.push({ key, pod: stored });
    return stored;
  }
}

/** A replica of the operator: its caches, its ipam, and what it does as the leader. */
export class Replica {
  readonly pods = new Store<NetworkPod>(POD_INDEXERS);
  readonly ipam: IpamState;
  readonly addresses: PodAddresses;
  readonly #world: AddressWorld;
  readonly #gates: PodGates;
  #seen = 0;

  constructor(world: AddressWorld) {
    this.#world = world;
    this.ipam = new IpamState({
      pods: this.pods,
      networks: { get: (key) => (key === KEY ? world.network : undefined) },
      gives: () => true,
      isAway: (node) => world.away.has(node),
      onFreed: () => undefined,
    });
    const client = {
      get: async <T extends KubeObject>(resource: Resource<T>, { namespace, name }: ObjectRef) => {
        const pod = world.pods.get(`${namespace}/${name}`);
        if (!pod) throw refusal(404);
        return resource.decode(pod);
      },
      jsonPatch: async <T extends KubeObject>(
        resource: Resource<T>,
        { namespace, name }: ObjectRef,
        operations: readonly Operation[],
      ) => resource.decode(await world.patchPod(`${namespace}/${name}`, operations)),
      list: async <I>(_: Resource<KubeObject>, _options: object, read: (item: unknown) => I) => ({
        items: [...world.pods.values()].map((item) => read(item)),
        resourceVersion: '',
        continue: undefined,
      }),
    };
    // A client can also list without a reader, which nobody does here.
    this.addresses = new PodAddresses({
      ...{ client: client as never, ipam: this.ipam, access: OPEN_ACCESS },
      ...{ networks: { get: () => undefined }, providers: { maker: () => undefined }, changing: new Set() },
    });
    this.#gates = new PodGates({
      client,
      ipam: this.ipam,
      addresses: this.addresses,
      pods: this.pods,
      users: new NetworkUsers(this.pods, this.ipam),
      stateOf: () => ({}),
      nodes: { withoutMultus: () => undefined, lostBy: () => [] },
      access: OPEN_ACCESS,
      events: { event: (_, { reason, note }) => world.notices.push(`${reason}: ${note}`) },
      onConflict: () => undefined,
    });
  }

  /** Hands some of the events to the caches, and their handlers. */
  catchUp(events = Number.POSITIVE_INFINITY): void {
    const end = Math.min(this.#seen + events, this.#world.events.length);
    for (; this.#seen < end; this.#seen += 1) {
      const event = this.#world.events[this.#seen];
      if (event) this.#onPod(event.key, event.pod);
    }
  }

  /** A reconcile of a pod. A failure is retried, some time. */
  async reconcile(name: string): Promise<void> {
    await this.#gates.reconcile(`default/${name}`, signal).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  }

  #onPod(key: string, pod: ApiPod | undefined): void {
    const known = this.pods.get(key);
    const decoded = pod && PODS.decode(pod);
    const current = decoded && isRelevant(decoded) ? decoded : undefined;
    if (known && known.metadata.uid !== current?.metadata.uid) {
      this.pods.delete(key);
      this.ipam.deleted(known);
    }
    if (!current) return;
    this.pods.set(current);
    this.ipam.changed(current, known?.metadata.uid === current.metadata.uid ? known : undefined);
  }
}

function addressesOf(pod: ApiPod): readonly string[] {
  const decoded = PODS.decode(pod);
  return decoded.gate === undefined ? [...addressesOn(decoded, KEY)] : [];
}

function refusal(status: number): ApiError {
  return new ApiError({ status, reason: '', message: `${status}`, retryAfterMs: undefined, causes: [] });
}
