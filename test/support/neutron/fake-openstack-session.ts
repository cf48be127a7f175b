import { OpenStackError } from '../../../src/addons/neutron/openstack/error.ts';
import type { HttpAnswer, HttpMethod } from '../../../src/addons/neutron/openstack/http.ts';
import type { NetworkRequest, OpenStackSession } from '../../../src/addons/neutron/openstack/session.ts';
import type {
  Filter,
  NeutronNetwork,
  NeutronPort,
  NeutronSubnet,
} from '../../../src/addons/neutron/resources.ts';
import type { FakeNeutron } from './fake-neutron.ts';

/** Of a list, what is no filter. */
const PAGING: ReadonlySet<string> = new Set(['fields', 'limit', 'sort_key', 'sort_dir', 'marker']);

/** The HTTP API of a fake Neutron, as NeutronClient calls it; it writes down each request. */
export class FakeOpenStackSession implements Pick<OpenStackSession, 'request' | 'close'> {
  /** `METHOD PATH?FILTER` with the condition and the body in lines of their own. */
  readonly requests: string[] = [];
  readonly #neutron: FakeNeutron;

  constructor(neutron: FakeNeutron) {
    this.#neutron = neutron;
  }

  async request(method: HttpMethod, request: NetworkRequest): Promise<HttpAnswer> {
    const filter = Object.entries(request.query ?? {}).filter(([name]) => !PAGING.has(name));
    const query = filter.map(([name, values]) => `${name}=${[values].flat().join(',')}`).join('&');
    const condition = request.headers?.['if-match'];
    this.requests.push(
      [
        `${method} ${request.path}${query && `?${query}`}`,
        ...(condition === undefined ? [] : [`  if-match: ${condition}`]),
        ...(request.body === undefined ? [] : [`  ${JSON.stringify(request.body)}`]),
      ].join('\n'),
    );
    const body = await this.#answer(method, request, Object.fromEntries(filter));
    return { status: 200, header: () => undefined, body };
  }

  async close(): Promise<void> {}

  async #answer(method: HttpMethod, { path, headers, body, signal }: NetworkRequest, filter: Filter) {
    const { api } = this.#neutron;
    const [, plural = '', id = '', tags, tag = ''] = path.split('/');
    const revision = /^revision_number=(\d+)$/.exec(headers?.['if-match'] ?? '')?.[1];
    const at = { revision: revision === undefined ? undefined : Number(revision) };
    const network = { ...this.#network(id), ...at };
    const subnet = { ...this.#subnet(id), ...at };
    switch ([method, plural, ...(tags === undefined ? [] : [tags])].join(' ')) {
      case 'GET networks':
        return { networks: (await api.networks(filter, signal)).map(networkAnswer) };
      case 'GET subnets':
        return { subnets: (await api.subnets(filter, signal)).map(subnetAnswer) };
      case 'GET ports':
        return { ports: (await api.ports(filter, signal)).map(portAnswer) };
      case 'POST networks':
        return { network: networkAnswer(await api.createNetwork(item(body, 'network'), signal)) };
      case 'POST subnets':
        return { subnet: subnetAnswer(await api.createSubnet(item(body, 'subnet'), signal)) };
      case 'PUT networks':
        return api.updateNetwork(network, item(body, 'network'), signal);
      case 'PUT subnets':
        return api.updateSubnet(subnet, item(body, 'subnet'), signal);
      case 'DELETE networks':
        return api.deleteNetwork(network, signal);
      case 'DELETE subnets':
        return api.deleteSubnet(subnet, signal);
      case 'PUT networks tags':
        return api.addTag(id, tag, signal);
      case 'DELETE networks tags':
        return api.removeTag(id, tag, signal);
      default:
        throw new OpenStackError(404, 'NotFound', `${method} ${path}`);
    }
  }

  #network(id: string): NeutronNetwork {
    const none = { name: '', description: '', mtu: undefined, tags: [], createdAt: '', subnetIds: [] };
    return this.#neutron.networks.get(id) ?? { id, revision: undefined, ...none };
  }

  #subnet(id: string): NeutronSubnet {
    const none = { networkId: '', name: '', description: '', cidr: '', gateway: undefined, pools: [] };
    return this.#neutron.subnets.get(id) ?? { id, revision: undefined, ...none };
  }
}

function item<T>(body: unknown, singular: string): T {
  return (body as Readonly<Record<string, T>>)[singular] as T;
}

function networkAnswer({ createdAt, revision, subnetIds, ...rest }: NeutronNetwork): object {
  return { ...rest, created_at: createdAt, revision_number: revision, subnets: subnetIds };
}

function subnetAnswer({ networkId, gateway, pools, revision, ...rest }: NeutronSubnet): object {
  const renamed = { network_id: networkId, gateway_ip: gateway, allocation_pools: pools };
  return { ...rest, ...renamed, revision_number: revision };
}

function portAnswer({ networkId, owner, addresses, ...rest }: NeutronPort): object {
  const ips = addresses.map(({ subnetId, address }) => ({ subnet_id: subnetId, ip_address: address }));
  return { ...rest, network_id: networkId, device_owner: owner, fixed_ips: ips };
}
