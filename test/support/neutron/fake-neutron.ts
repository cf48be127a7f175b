import type { Identified, NeutronApi } from '../../../src/addons/neutron/client.ts';
import type { NeutronOptions } from '../../../src/addons/neutron/neutron.ts';
import { OpenStackError } from '../../../src/addons/neutron/openstack/error.ts';
import type { portFor } from '../../../src/addons/neutron/pods/port-plan.ts';
import { poolsAround } from '../../../src/addons/neutron/ports.ts';
import type {
  Collection,
  Filter,
  NeutronNetwork,
  NeutronPort,
  NeutronSubnet,
} from '../../../src/addons/neutron/resources.ts';
import { overlaps, parseRange, type Range } from '../../../src/networks/ranges/cidr.ts';

type CreatedSubnet = Readonly<Record<'network_id' | 'name' | 'description' | 'cidr' | 'gateway_ip', string>>;

/** For a provider whose networks no pod can attach to. */
export const WITHOUT_PODS: Pick<NeutronOptions, 'attachesPods' | 'definitions' | 'ports' | 'usageOf'> = {
  attachesPods: false,
  definitions: { ensure: async () => 'none', remove: async () => ({ kind: 'gone' }) },
  ports: { attach: async () => ({ options: {} }), refusalOn: () => undefined },
  usageOf: () => ({ pods: [] }),
};

/** What Neutron does with what the provider asks, as seen on a real one: a model to break at will. */
export class FakeNeutron {
  readonly networks = new Map<string, NeutronNetwork>();
  readonly subnets = new Map<string, NeutronSubnet>();
  readonly ports = new Map<string, NeutronPort>();
  readonly calls: string[] = [];
  /** Runs each call; a test may have it fail before or after. */
  through: <R>(call: () => R) => Promise<R> = async (call) => call();
  #ids = 0;

  readonly api: NeutronApi = {
    list: <T extends Identified>(kind: Collection<T>, filter: Filter) =>
      this.#do(`list ${kind.plural}`, () => matching([...this.#all(kind).values()], filter)),
    create: <T>(kind: Collection<T>, item: object) =>
      this.#do(`create ${kind.singular}`, () => this.#creations[kind.singular]?.(item as never) as T),
    update: (kind, { id, revision }, changes) =>
      this.#do(`update ${kind.singular}`, () => {
        const all = this.#all(kind);
        const renamed = Object.entries(changes).map(([key, value]) => [RENAMED[key] ?? key, value]);
        all.set(id, bumped({ ...this.#match(all, id, revision), ...Object.fromEntries(renamed) }));
      }),
    delete: (kind, { id, revision }) =>
      this.#do(`delete ${kind.singular}`, () => {
        const all = this.#all(kind);
        if (!all.has(id)) return;
        if (kind.singular !== 'port') this.#match(all, id, revision);
        this.#removals[kind.singular]?.(id);
        all.delete(id);
      }),
    tag: (verb, id, tag) =>
      this.#do(`${verb} tag`, () => {
        const network = this.#get(this.networks, id);
        const others = network.tags.filter((other) => other !== tag);
        this.networks.set(id, bumped({ ...network, tags: verb === 'PUT' ? [...others, tag] : others }));
      }),
  };

  readonly #creations: Readonly<Record<string, (item: never) => Identified>> = {
    network: (create: object) => {
      const id = this.#id('network');
      const network = {
        ...{ id, name: '', description: '', tags: [], createdAt: id, revision: 1, subnetIds: [] },
        ...{ mtu: 1500, ...create },
      };
      this.networks.set(id, network);
      return network;
    },
    subnet: ({ network_id: networkId, name, description, cidr, gateway_ip: gateway }: CreatedSubnet) => {
      const network = this.#get(this.networks, networkId);
      const range = rangeOf(cidr);
      for (const other of this.subnets.values()) {
        if (other.networkId === networkId && overlaps(rangeOf(other.cidr), range)) {
          throw new OpenStackError(400, 'InvalidInput', 'overlaps with another subnet');
        }
      }
      const id = this.#id('subnet');
      const pools = poolsAround(cidr, gateway);
      const subnet = { id, networkId, name, description, cidr, gateway, pools, revision: 0 };
      this.subnets.set(id, subnet);
      this.networks.set(networkId, bumped({ ...network, subnetIds: [...network.subnetIds, id] }));
      return subnet;
    },
    port: ({ network_id, device_id: device, device_owner: owner, ...create }: ReturnType<typeof portFor>) => {
      this.#get(this.networks, network_id);
      return this.addPort(network_id, {
        ...{ device, owner, name: create.name, description: create.description },
        ...(create.mac_address !== undefined && { mac: create.mac_address }),
      });
    },
  };

  readonly #removals: Readonly<Record<string, (id: string) => void>> = {
    network: (id) => {
      if ([...this.ports.values()].some(({ networkId }) => networkId === id)) {
        throw new OpenStackError(409, 'NetworkInUse', `ports on ${id}`);
      }
      for (const subnet of this.subnets.values()) {
        if (subnet.networkId === id) this.subnets.delete(subnet.id);
      }
    },
    subnet: (id) => {
      const ports = [...this.ports.values()].flatMap(({ addresses }) => addresses);
      if (ports.some(({ subnetId }) => subnetId === id)) {
        throw new OpenStackError(409, 'SubnetInUse', `ports on ${id}`);
      }
      const network = this.#get(this.networks, this.#get(this.subnets, id).networkId);
      const subnetIds = network.subnetIds.filter((other) => other !== id);
      this.networks.set(network.id, bumped({ ...network, subnetIds }));
    },
  };

  /** A port of somebody's on the first subnet of the network. */
  addPort(networkId: string, fields: Partial<NeutronPort> = {}): NeutronPort {
    const subnet = [...this.subnets.values()].find((s) => s.networkId === networkId);
    const addresses = subnet ? [{ subnetId: subnet.id, address: subnet.pools[0]?.start ?? '' }] : [];
    const texts = { name: '', owner: '', device: '', description: '', mac: 'fa:16:3e:00:00:01' };
    const port = { id: this.#id('port'), networkId, ...texts, revision: 0, addresses, ...fields };
    this.ports.set(port.id, port);
    return port;
  }

  async #do<R>(name: string, call: () => R): Promise<R> {
    this.calls.push(name);
    return this.through(call);
  }

  /** Those of a kind, as the kind says that they are. */
  #all<T>({ plural }: Collection<T>): Map<string, T & { readonly revision: number | undefined }> {
    return { networks: this.networks, subnets: this.subnets, ports: this.ports }[plural] as never;
  }

  #id(kind: string): string {
    return `${kind}-${String(++this.#ids).padStart(4, '0')}`;
  }

  #get<T>(items: ReadonlyMap<string, T>, id: string): T {
    const found = items.get(id);
    if (!found) throw new OpenStackError(404, 'NotFound', `${id} could not be found`);
    return found;
  }

  #match<T extends { readonly revision: number | undefined }>(
    items: ReadonlyMap<string, T>,
    id: string,
    revision: number | undefined,
  ): T {
    const found = this.#get(items, id);
    if (found.revision !== revision) throw new OpenStackError(412, 'RevisionNumberConstraintFailed', id);
    return found;
  }
}

function bumped<T extends { readonly revision: number | undefined }>(item: T): T {
  return { ...item, revision: (item.revision ?? 0) + 1 };
}

/** Fields of ours that the API calls otherwise. */
const RENAMED: Readonly<Record<string, string>> = {
  ...{ network_id: 'networkId', device_id: 'device', device_owner: 'owner' },
  ...{ gateway_ip: 'gateway', allocation_pools: 'pools' },
};

function matching<T extends object>(items: readonly T[], filter: Filter): readonly T[] {
  return items.filter((item) =>
    Object.entries(filter).every(([key, values]) => {
      const value: unknown = Reflect.get(item, RENAMED[key] ?? key);
      return typeof value === 'string' && [values].flat().includes(value);
    }),
  );
}

function rangeOf(cidr: string): Range {
  const range = parseRange(cidr);
  if (!range) throw new OpenStackError(400, 'InvalidInput', `${cidr} is no range`);
  return range;
}
