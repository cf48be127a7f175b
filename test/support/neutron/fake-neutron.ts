import type { NeutronApi } from '../../../src/addons/neutron/client.ts';
import { OpenStackError } from '../../../src/addons/neutron/openstack/error.ts';
import { poolsAround } from '../../../src/addons/neutron/ports.ts';
import type {
  Filter,
  NeutronNetwork,
  NeutronPort,
  NeutronSubnet,
} from '../../../src/addons/neutron/resources.ts';
import { overlaps, parseRange, type Range } from '../../../src/networks/ipam/cidr.ts';

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
    networks: (filter) => this.#do('networks', () => matching([...this.networks.values()], filter)),
    subnets: (filter) => this.#do('subnets', () => matching([...this.subnets.values()], filter)),
    ports: (filter) => this.#do('ports', () => matching([...this.ports.values()], filter)),
    createNetwork: (create) =>
      this.#do('createNetwork', () => {
        const id = this.#id('network');
        const network = {
          ...{ id, name: '', tags: [], createdAt: id, revision: 1, subnetIds: [] },
          ...{ mtu: 1500, ...create },
        };
        this.networks.set(id, network);
        return network;
      }),
    createSubnet: (create) =>
      this.#do('createSubnet', () => {
        const { network_id: networkId, name, description, cidr, gateway_ip: gateway } = create;
        const network = this.#get(this.networks, networkId);
        const range = rangeOf(cidr);
        for (const other of this.subnets.values()) {
          if (other.networkId === networkId && overlaps(rangeOf(other.cidr), range)) {
            throw new OpenStackError(400, 'InvalidInput', 'overlaps with another subnet');
          }
        }
        const id = this.#id('subnet');
        const pools = poolsAround(range, gateway);
        const subnet = { id, networkId, name, description, cidr, gateway, pools, revision: 0 };
        this.subnets.set(id, subnet);
        this.networks.set(networkId, bumped({ ...network, subnetIds: [...network.subnetIds, id] }));
        return subnet;
      }),
    createPort: ({ network_id: networkId, device_id: device, device_owner: owner, ...create }) =>
      this.#do('createPort', () => {
        this.#get(this.networks, networkId);
        return this.addPort(networkId, {
          ...{ device, owner, name: create.name, description: create.description },
          ...(create.mac_address !== undefined && { mac: create.mac_address }),
        });
      }),
    updatePort: ({ id, revision }, { device_id: device, device_owner: owner, description }) =>
      this.#do('updatePort', () => {
        const port = this.#match(this.ports, id, revision);
        this.ports.set(id, bumped({ ...port, device, owner, description }));
      }),
    deletePort: (id) => this.#do('deletePort', () => void this.ports.delete(id)),
    updateNetwork: ({ id, revision }, changes) =>
      this.#do('updateNetwork', () => {
        this.networks.set(id, bumped({ ...this.#match(this.networks, id, revision), ...changes }));
      }),
    updateSubnet: ({ id, revision }, { gateway_ip, allocation_pools, ...texts }) =>
      this.#do('updateSubnet', () => {
        const gateway = gateway_ip && { gateway: gateway_ip };
        const pools = allocation_pools && { pools: allocation_pools };
        const subnet = this.#match(this.subnets, id, revision);
        this.subnets.set(id, bumped({ ...subnet, ...texts, ...gateway, ...pools }));
      }),
    deleteNetwork: ({ id, revision }) =>
      this.#do('deleteNetwork', () => {
        if (!this.networks.has(id)) return;
        this.#match(this.networks, id, revision);
        if ([...this.ports.values()].some(({ networkId }) => networkId === id)) {
          throw new OpenStackError(409, 'NetworkInUse', `ports on ${id}`);
        }
        this.networks.delete(id);
        for (const subnet of this.subnets.values()) {
          if (subnet.networkId === id) this.subnets.delete(subnet.id);
        }
      }),
    deleteSubnet: ({ id, revision }) =>
      this.#do('deleteSubnet', () => {
        if (!this.subnets.has(id)) return;
        const { networkId } = this.#match(this.subnets, id, revision);
        const ports = [...this.ports.values()].flatMap(({ addresses }) => addresses);
        if (ports.some(({ subnetId }) => subnetId === id)) {
          throw new OpenStackError(409, 'SubnetInUse', `ports on ${id}`);
        }
        this.subnets.delete(id);
        const network = this.#get(this.networks, networkId);
        const subnetIds = network.subnetIds.filter((other) => other !== id);
        this.networks.set(networkId, bumped({ ...network, subnetIds }));
      }),
    addTag: (id, tag) =>
      this.#do('addTag', () => {
        const network = this.#get(this.networks, id);
        this.networks.set(id, bumped({ ...network, tags: [...new Set([...network.tags, tag])] }));
      }),
    removeTag: (id, tag) =>
      this.#do('removeTag', () => {
        const network = this.#get(this.networks, id);
        this.networks.set(id, bumped({ ...network, tags: network.tags.filter((other) => other !== tag) }));
      }),
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
const RENAMED: Readonly<Record<string, string>> = { network_id: 'networkId', device_id: 'device' };

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
