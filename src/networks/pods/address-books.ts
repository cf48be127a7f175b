import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { AddressBook, type Holder } from '../addresses/book.ts';
import { poolsOf } from '../addresses/pool.ts';
import { give, type Refusal, type Wish } from '../addresses/request.ts';
import { rangesOf, recordedSubnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { IpamClaim } from './ipam-claims.ts';
import { addressesOn, isGated, type NetworkPod, networksOf } from './network-pods.ts';

export interface AddressBooksOptions {
  /** With POD_INDEXERS. */
  readonly pods: Pick<Lister<NetworkPod>, 'get' | 'byIndex'>;
  readonly networks: Pick<Lister<Network>, 'get'>;
  /** With CLAIM_INDEXERS. */
  readonly claims: Pick<Lister<IpamClaim>, 'get' | 'byIndex'>;
  /** Whether the operator gives pods their addresses on the Network. */
  readonly gives: (network: Network) => boolean;
  /** Whether the node is there and does not respond. */
  readonly isAway: (node: string) => boolean;
  /** Called when pods that wait for an address of the Network may get it. */
  readonly onFreed: (network: ObjectKey) => void;
}

/** Addresses of a pod that the cache does not show yet. */
interface Given {
  readonly pod: NetworkPod;
  /** By the place of the network in Multus' annotation. */
  readonly wishes: ReadonlyMap<number, { readonly network: ObjectKey; readonly ips: readonly string[] }>;
  /** Whether the pod was missing in the cache at the last sweep. */
  isMissing?: boolean;
}

/** A pod that is gone from the API while its node did not respond: it may still run. */
interface Lost {
  readonly node: string;
  readonly holder: Holder;
  readonly ips: ReadonlyMap<ObjectKey, readonly string[]>;
}

/**
 * The addresses of all Networks. They follow from pods and IPAMClaims alone: a book is built from the caches when it
 * is first needed, and follows their changes. In addition, it knows what this process has given, and what it has read
 * past the caches.
 */
export class AddressBooks {
  readonly #options: AddressBooksOptions;
  readonly #books = new Map<ObjectKey, { readonly shape: string; readonly book: AddressBook }>();
  /** By the UID of the pod. */
  readonly #given = new Map<string, Given>();
  readonly #lost = new Map<string, Lost>();
  /** By the key of the claim. */
  readonly #claimed = new Map<ObjectKey, { readonly claim: IpamClaim; isMissing?: boolean }>();
  /** Addresses that are about to be written into a claim. */
  readonly #offered = new Map<ObjectKey, readonly string[]>();

  constructor(options: AddressBooksOptions) {
    this.#options = options;
  }

  /** The book of a Network; undefined if the operator gives no addresses on it. */
  of(key: ObjectKey): AddressBook | undefined {
    const network = this.#options.networks.get(key);
    const subnet = network && recordedSubnet(network);
    if (!subnet || !this.#options.gives(network)) {
      this.#books.delete(key);
      return undefined;
    }
    const shape = JSON.stringify([rangesOf(subnet), network.spec.exclude]);
    const known = this.#books.get(key);
    if (known?.shape === shape) return known.book;
    const book = new AddressBook(poolsOf(subnet, network.spec.exclude));
    this.#books.set(key, { shape, book });
    this.#fill(key, book);
    return book;
  }

  /** How many addresses pods can have on a Network, and have; undefined if the operator gives none on it. */
  countsOf(key: ObjectKey): { readonly taken: number; readonly total: number } | undefined {
    const book = this.of(key);
    const isQuick = this.#given.size + this.#lost.size + this.#claimed.size === 0;
    // Most Networks have no pods. It is quick to make their books again.
    if (book?.isUnused && isQuick) this.#books.delete(key);
    return book && { taken: book.taken, total: book.total };
  }

  /** Gives a pod all that it wants, or nothing. The addresses are by the place of the network in the annotation. */
  take(pod: NetworkPod, wishes: readonly Wish[]): ReadonlyMap<number, readonly string[]> | Refusal {
    const { uid = '' } = pod.metadata;
    const earlier = this.#given.get(uid)?.wishes;
    const taken = new Map<number, { readonly network: ObjectKey; readonly ips: readonly string[] }>();
    for (const wish of wishes) {
      const book = this.of(wish.network);
      const before = earlier?.get(wish.index);
      // The range may have changed since.
      const isKept =
        before?.network === wish.network &&
        wish.ips.length === 0 &&
        before.ips.every((ip) => book?.problemOf(ip) === undefined);
      const got = isKept ? before.ips : ((book && give(book, holderOf(pod), wish)) ?? []);
      if ('why' in got) {
        for (const network of new Set(wishes.map((each) => each.network))) this.#record(network, pod);
        return got;
      }
      taken.set(wish.index, { network: wish.network, ips: got });
    }
    if (taken.size > 0) this.#given.set(uid, { pod, wishes: taken });
    return new Map(Array.from(taken, ([index, { ips }]) => [index, ips]));
  }

  /** The claim of this key, from the cache or newer. */
  claim(key: ObjectKey): IpamClaim | undefined {
    return this.#claimed.get(key)?.claim ?? this.#options.claims.get(key);
  }

  /** The addresses of a claim, new ones if it has none. They stay the same until the claim has some. */
  takeFor(claim: IpamClaim): readonly string[] | Refusal {
    const key = keyOf(claim);
    const ips = claim.ips.length > 0 ? claim.ips : this.#offered.get(key);
    if (ips) return ips;
    const book = this.of(claim.network);
    const got = book ? give(book, claimHolder(claim), { index: 0, network: claim.network, ips: [] }) : [];
    if (!('why' in got)) this.#offered.set(key, got);
    return got;
  }

  /** Records a claim as the API server has it, which the cache may not have yet. */
  claimed(claim: IpamClaim): void {
    this.#claimed.set(keyOf(claim), { claim });
    this.#refresh(claim);
  }

  /** Call it for each event of a claim. */
  claimChanged(claim: IpamClaim, previous: IpamClaim = claim): void {
    const key = keyOf(claim);
    const cached = this.#options.claims.get(key);
    const isGone = cached?.metadata.uid !== claim.metadata.uid;
    if (isGone || (cached?.ips.length ?? 0) > 0) this.#claimed.delete(key);
    const hasMoved = previous.network !== claim.network;
    if (isGone || hasMoved) this.#offered.delete(key);
    if (hasMoved) this.#refresh(previous);
    this.#refresh(claim);
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

  /** Call it when a pod is gone. */
  deleted(pod: NetworkPod): void {
    const { uid = '' } = pod.metadata;
    const { nodeName } = pod;
    const ips = new Map(this.#networksOf(pod).map((network) => [network, this.#addresses(pod, network)]));
    this.#given.delete(uid);
    if (nodeName === undefined || !this.#options.isAway(nodeName)) {
      this.#release(uid, ips.keys());
      return;
    }
    const holder = { id: uid, name: `${nameOf(pod)}, deleted while its node ${nodeName} does not respond` };
    this.#lost.set(uid, { node: nodeName, holder, ips });
    for (const [network, held] of ips) this.#books.get(network)?.book.hold(holder, held);
  }

  /** Frees what lost pods on a node had, when the node is ready again, or gone. */
  nodeChanged(node: string): void {
    if (this.#options.isAway(node)) return;
    for (const [uid, lost] of this.#lost) {
      if (lost.node !== node) continue;
      this.#lost.delete(uid);
      this.#release(uid, lost.ips.keys());
    }
  }

  /**
   * Records pods and claims as the API server has them, which the caches may not have yet. What was given before is
   * among them, or was never stored.
   */
  listed(pods: Iterable<NetworkPod>, claims: Iterable<IpamClaim>): void {
    const given = [...this.#given.values()];
    const claimed = Array.from(this.#claimed.values(), ({ claim }) => claim);
    const offered = [...this.#offered.keys()].flatMap((key) => this.claim(key) ?? []);
    this.#given.clear();
    this.#claimed.clear();
    this.#offered.clear();
    for (const { pod, wishes } of given) {
      const current = this.#current(pod);
      for (const { network } of wishes.values()) {
        if (current) this.#record(network, current);
        else this.#books.get(network)?.book.release(pod.metadata.uid ?? '');
      }
    }
    for (const claim of [...claimed, ...offered]) this.#refresh(claim);
    for (const claim of claims) this.claimed(claim);
    for (const pod of pods) {
      const { uid = '', resourceVersion } = pod.metadata;
      if (isGated(pod) || this.#current(pod)?.metadata.resourceVersion === resourceVersion) continue;
      const wishes = networksOf(pod)
        .map((network) => ({ network, ips: [...addressesOn(pod, network)] }))
        .filter(({ ips }) => ips.length > 0);
      // Negative, because these places are not those of the annotation.
      this.#given.set(uid, { pod, wishes: new Map(wishes.map((wish, index) => [-1 - index, wish])) });
      this.changed(this.#current(pod) ?? pod);
      for (const { network } of wishes) this.#record(network, pod);
    }
  }

  /** Forgets what the caches have not shown for two sweeps: it was deleted before they could. */
  sweep(): void {
    for (const given of [...this.#given.values()]) {
      const wasMissing = given.isMissing;
      given.isMissing = this.#current(given.pod) === undefined;
      if (wasMissing && given.isMissing) this.deleted(given.pod);
    }
    for (const claimed of [...this.#claimed.values()]) {
      const wasMissing = claimed.isMissing;
      claimed.isMissing = this.#options.claims.get(keyOf(claimed.claim)) === undefined;
      if (wasMissing && claimed.isMissing) this.claimChanged(claimed.claim);
    }
  }

  /** The pods that have an address of this pod, too, with the address. */
  rivalsOf(
    pod: NetworkPod,
  ): readonly { readonly network: ObjectKey; readonly ip: string; readonly rival: NetworkPod }[] {
    const { uid = '' } = pod.metadata;
    return networksOf(pod).flatMap((network) => {
      const book = this.of(network);
      return [...addressesOn(pod, network)].flatMap((ip) => {
        const holders = book?.holdersOf(ip) ?? [];
        return holders.flatMap(({ id, pod: key }) => {
          const rival = key === undefined || id === uid ? undefined : this.#options.pods.get(key);
          return rival?.metadata.uid === id ? [{ network, ip, rival }] : [];
        });
      });
    });
  }

  #fill(key: ObjectKey, book: AddressBook): void {
    const { pods, claims } = this.#options;
    for (const pod of [...pods.byIndex('user', key), ...pods.byIndex('gated', key)]) this.#record(key, pod);
    for (const { pod } of this.#given.values()) if (!this.#current(pod)) this.#record(key, pod);
    for (const { holder, ips } of this.#lost.values()) book.hold(holder, ips.get(key) ?? []);
    for (const claim of claims.byIndex('network', key)) this.#hold(claim);
    for (const { claim } of this.#claimed.values()) if (claim.network === key) this.#hold(claim);
  }

  #refresh({ metadata, network }: IpamClaim): void {
    const key = keyOf({ metadata });
    const current = this.claim(key);
    if ((current?.ips.length ?? 0) > 0) this.#offered.delete(key);
    this.#books.get(network)?.book.release(claimHolder({ metadata }).id);
    if (current?.network === network) this.#hold(current);
    this.#options.onFreed(network);
  }

  #hold(claim: IpamClaim): void {
    const offered = this.#offered.get(keyOf(claim)) ?? [];
    this.#books.get(claim.network)?.book.add(claimHolder(claim), [...claim.ips, ...offered]);
  }

  #record(network: ObjectKey, pod: NetworkPod): void {
    const book = this.#books.get(network)?.book;
    if (!book) return;
    const { uid = '' } = pod.metadata;
    const given = this.#givenOn(uid, network);
    const asks = isGated(pod) && given.length === 0;
    book.hold({ ...holderOf(pod), ...(asks && { asks }) }, this.#addresses(pod, network));
  }

  #addresses(pod: NetworkPod, network: ObjectKey): readonly string[] {
    return [...addressesOn(pod, network), ...this.#givenOn(pod.metadata.uid ?? '', network)];
  }

  #givenOn(uid: string, network: ObjectKey): readonly string[] {
    const wishes = [...(this.#given.get(uid)?.wishes.values() ?? [])];
    return wishes.flatMap((wish) => (wish.network === network ? wish.ips : []));
  }

  /** Forgets what was given to the pod where the cache shows it. */
  #settle(pod: NetworkPod): void {
    const { uid = '' } = pod.metadata;
    const given = this.#given.get(uid);
    if (!given || isGated(pod)) return;
    const open = [...given.wishes].filter(
      ([, { network }]) => pod.lacks.includes(network) && addressesOn(pod, network).size === 0,
    );
    if (open.length === 0) this.#given.delete(uid);
    else if (open.length < given.wishes.size) this.#given.set(uid, { ...given, wishes: new Map(open) });
  }

  /** The pod as the cache has it; undefined if it has none, or another one of the same name. */
  #current(pod: NetworkPod): NetworkPod | undefined {
    const cached = this.#options.pods.get(keyOf(pod));
    return cached?.metadata.uid === pod.metadata.uid ? cached : undefined;
  }

  #networksOf(pod: NetworkPod): readonly ObjectKey[] {
    const given = this.#given.get(pod.metadata.uid ?? '')?.wishes.values() ?? [];
    return [...new Set([...networksOf(pod), ...Array.from(given, ({ network }) => network)])];
  }

  #release(uid: string, networks: Iterable<ObjectKey>): void {
    for (const network of networks) {
      this.#books.get(network)?.book.release(uid);
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

/** The holder of the addresses of a claim. */
export function claimHolder({ metadata }: Pick<IpamClaim, 'metadata'>): Holder {
  return { id: `claim ${metadata.uid}`, name: `IPAMClaim ${keyOf({ metadata })}` };
}
