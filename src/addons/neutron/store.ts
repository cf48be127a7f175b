import { abortable } from '../../kube/util/waits.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import type { NeutronApi } from './client.ts';
import { descriptionOf, type Owner, ownerIn, uidTag } from './marker.ts';
import {
  type Found,
  NEUTRON_NETWORKS,
  NEUTRON_PORTS,
  NEUTRON_SUBNETS,
  type NeutronNetwork,
  type NeutronPort,
  type NeutronSubnet,
} from './resources.ts';

/** The maximum age of the lists: below the resync, so that each resync reads them again. */
const MAX_AGE_MS = 15_000;
/** The pause after a failure, so that a dead Neutron does not get a request for each Network. */
const FAILURE_PAUSE_MS = 5_000;
/** IDs in one query: all servers accept a URL of 8 KiB. */
const IDS_AT_ONCE = 100;

/**
 * The operator's networks in Neutron: all of them from recent lists, and those of one Network read directly. The
 * lists keep the number of requests independent of the number of Networks. No write is based on the lists alone.
 */
export class NeutronStore {
  readonly #api: () => NeutronApi;
  readonly #clock: Clock;
  #known = new Map<string, readonly Found[]>();
  /** Networks that were read while the lists were under way, and are newer. */
  readonly #read = new Map<string, readonly Found[]>();
  #listedAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: unknown; readonly until: number } | undefined;
  #refreshing: Promise<void> | undefined;
  #generation = 0;

  /** `api` returns the client. @throws NotConfiguredError without one. */
  constructor({ api, clock }: { readonly api: () => NeutronApi; readonly clock: Clock }) {
    this.#api = api;
    this.#clock = clock;
  }

  known(uid: string): readonly Found[] {
    return this.#known.get(uid) ?? [];
  }

  /** All networks with an owner in their description, from the last lists. */
  owned(): readonly { readonly owner: Owner; readonly found: Found }[] {
    return [...this.#known.values()].flat().flatMap((found) => {
      const owner = ownerIn(found.network.description);
      return owner ? [{ owner, found }] : [];
    });
  }

  hasListed(): boolean {
    return this.#listedAt > Number.NEGATIVE_INFINITY;
  }

  forget(uid: string): void {
    this.#learn(uid, []);
  }

  /** Forgets everything, for example after a change to another Neutron. */
  reset(): void {
    this.#generation++;
    this.#known = new Map();
    this.#read.clear();
    this.#listedAt = Number.NEGATIVE_INFINITY;
    this.#failure = undefined;
    this.#refreshing = undefined;
  }

  /** Resolves when the lists are at most 15 s old. After a failure, rejects with its error for 5 s. */
  async refreshed(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#listedAt < MAX_AGE_MS) return;
    if (this.#failure && now < this.#failure.until) throw this.#failure.error;
    this.#refreshing ??= this.#refresh(this.#generation);
    await abortable(this.#refreshing, signal);
  }

  /** Reads the networks of a Network with their subnets and ports. */
  async read(owner: Owner, signal: AbortSignal): Promise<readonly Found[]> {
    const generation = this.#generation;
    const found = await withContents(this.#api(), await this.networksOf(owner, signal), signal);
    if (generation === this.#generation) this.#learn(owner.uid, found);
    return found;
  }

  /** Reads the networks of a Network: by description, and by tag for those known from the lists. */
  async networksOf(owner: Owner, signal: AbortSignal): Promise<readonly NeutronNetwork[]> {
    const api = this.#api();
    const marked = await api.list(NEUTRON_NETWORKS, { description: descriptionOf(owner) }, signal);
    // A server that ignores an unknown filter returns all networks.
    const networks = marked.filter(({ description }) => ownerIn(description)?.uid === owner.uid);
    const others = this.known(owner.uid)
      .map(({ network }) => network.id)
      .filter((id) => !networks.some((network) => network.id === id));
    if (others.length === 0) return networks;
    const tag = uidTag(owner.uid);
    const tagged = await api.list(NEUTRON_NETWORKS, { id: others }, signal);
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
    // All waiters share this refresh, so no waiter's signal may end it. Each request has a timeout.
    const { signal } = new AbortController();
    const all = await api.list(NEUTRON_NETWORKS, {}, signal);
    const networks = all.filter((network) => uidOf(network) !== undefined);
    const found = await withContents(api, networks, signal);
    return Map.groupBy(found, ({ network }) => uidOf(network) ?? '');
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
  // A network without a subnet has no port with an address.
  const ids = networks.filter(({ subnetIds }) => subnetIds.length > 0).map(({ id }) => id);
  const [subnets, ports]: [NeutronSubnet[], NeutronPort[]] = [[], []];
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    const filter = { network_id: ids.slice(start, start + IDS_AT_ONCE) };
    for (const subnet of await api.list(NEUTRON_SUBNETS, filter, signal)) subnets.push(subnet);
    for (const port of await api.list(NEUTRON_PORTS, filter, signal)) ports.push(port);
  }
  const subnetsOf = Map.groupBy(subnets, ({ networkId }) => networkId);
  const portsOf = Map.groupBy(ports, ({ networkId }) => networkId);
  return networks.map((network) => ({
    network,
    subnets: subnetsOf.get(network.id) ?? [],
    ports: portsOf.get(network.id) ?? [],
  }));
}
