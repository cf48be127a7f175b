import { abortable } from '../../../kube/util/linked-abort.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import type { Found, NeutronApi } from './neutron-api.ts';
import { descriptionOf, type Owner, ownerIn, uidTag } from './neutron-marker.ts';
import type { NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

export interface NeutronStoreOptions {
  /** @throws NotConfiguredError while there is none. */
  readonly api: () => NeutronApi;
  readonly clock: Clock;
}

/** How old what is known may be before it is asked for again: below the resync, so that each one looks. */
const MAX_AGE_MS = 15_000;
/** A Neutron that does not answer is not asked for each Network. */
const FAILURE_PAUSE_MS = 5_000;
/** IDs in one query: a URL of 8 KiB is what servers take at the least. */
const IDS_AT_ONCE = 100;

/**
 * The networks of ours in Neutron: all of them as they were a moment ago, from a few lists for however many Networks;
 * and those of one Network as they really are. No write is decided on the former alone.
 */
export class NeutronStore {
  readonly #api: () => NeutronApi;
  readonly #clock: Clock;
  #known = new Map<string, readonly Found[]>();
  /** What was read of single Networks since the lists began: it is newer than they are. */
  readonly #read = new Map<string, readonly Found[]>();
  #listedAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: unknown; readonly until: number } | undefined;
  #refreshing: Promise<void> | undefined;
  #generation = 0;

  constructor({ api, clock }: NeutronStoreOptions) {
    this.#api = api;
    this.#clock = clock;
  }

  /** What was last seen of the Network's. */
  known(uid: string): readonly Found[] {
    return this.#known.get(uid) ?? [];
  }

  /** Every network that says whose it is, as last seen. */
  owned(): readonly { readonly owner: Owner; readonly found: Found }[] {
    return [...this.#known.values()].flat().flatMap((found) => {
      const owner = ownerIn(found.network.description);
      return owner ? [{ owner, found }] : [];
    });
  }

  /** Whether anything is known at all. */
  hasListed(): boolean {
    return this.#listedAt > Number.NEGATIVE_INFINITY;
  }

  /** The Network's are gone. */
  forget(uid: string): void {
    this.#learn(uid, []);
  }

  /** Forgets all: it was of another Neutron. */
  reset(): void {
    this.#generation++;
    this.#known = new Map();
    this.#read.clear();
    this.#listedAt = Number.NEGATIVE_INFINITY;
    this.#failure = undefined;
    this.#refreshing = undefined;
  }

  /** Resolves when what is known is no older than 15 s. @throws why Neutron does not say, to all who ask for 5 s. */
  async refreshed(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#listedAt < MAX_AGE_MS) return;
    if (this.#failure && now < this.#failure.until) throw this.#failure.error;
    this.#refreshing ??= this.#refresh(this.#generation);
    await abortable(this.#refreshing, signal);
  }

  /** Those of the Network as they are now, with what is on them. */
  async read(owner: Owner, signal: AbortSignal): Promise<readonly Found[]> {
    const generation = this.#generation;
    const found = await withContents(this.#api(), await this.networksOf(owner, signal), signal);
    if (generation === this.#generation) this.#learn(owner.uid, found);
    return found;
  }

  /** The Network's as they are now: by our mark, and by the tag on those that were known to be its. */
  async networksOf(owner: Owner, signal: AbortSignal): Promise<readonly NeutronNetwork[]> {
    const api = this.#api();
    const marked = await api.networks({ description: descriptionOf(owner) }, signal);
    // A server that passes over what it does not know answers with all there is.
    const networks = marked.filter(({ description }) => ownerIn(description)?.uid === owner.uid);
    const others = this.known(owner.uid)
      .map(({ network }) => network.id)
      .filter((id) => !networks.some((network) => network.id === id));
    if (others.length === 0) return networks;
    const tag = uidTag(owner.uid);
    const tagged = await api.networks({ id: others }, signal);
    return [...networks, ...tagged.filter(({ id, tags }) => others.includes(id) && tags.includes(tag))];
  }

  #learn(uid: string, found: readonly Found[]): void {
    this.#known.set(uid, found);
    if (this.#refreshing !== undefined) this.#read.set(uid, found);
  }

  async #refresh(generation: number): Promise<void> {
    this.#read.clear();
    try {
      const known = await this.#list();
      if (generation !== this.#generation) return;
      this.#known = new Map([...known, ...this.#read]);
      this.#listedAt = this.#clock.now();
      this.#failure = undefined;
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#failure = { error, until: this.#clock.now() + FAILURE_PAUSE_MS };
      throw error;
    } finally {
      if (generation === this.#generation) this.#refreshing = undefined;
    }
  }

  async #list(): Promise<Map<string, readonly Found[]>> {
    const api = this.#api();
    // For all who wait, so none of them can end it; each request is bounded.
    const { signal } = new AbortController();
    const networks = (await api.networks({}, signal)).filter((network) => uidOf(network) !== undefined);
    const known = new Map<string, Found[]>();
    for (const found of await withContents(api, networks, signal)) {
      const uid = uidOf(found.network) ?? '';
      append(known, uid, found);
    }
    return known;
  }
}

function uidOf({ description, tags }: NeutronNetwork): string | undefined {
  const prefix = uidTag('');
  return ownerIn(description)?.uid ?? tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length);
}

async function withContents(
  api: NeutronApi,
  networks: readonly NeutronNetwork[],
  signal: AbortSignal,
): Promise<readonly Found[]> {
  // A network without a subnet has no port with an address either.
  const ids = networks.filter(({ subnetIds }) => subnetIds.length > 0).map(({ id }) => id);
  const subnets = new Map<string, NeutronSubnet[]>();
  const ports = new Map<string, NeutronPort[]>();
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    const filter = { network_id: ids.slice(start, start + IDS_AT_ONCE) };
    for (const subnet of await api.subnets(filter, signal)) append(subnets, subnet.networkId, subnet);
    for (const port of await api.ports(filter, signal)) append(ports, port.networkId, port);
  }
  return networks.map((network) => ({
    network,
    subnets: subnets.get(network.id) ?? [],
    ports: ports.get(network.id) ?? [],
  }));
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
