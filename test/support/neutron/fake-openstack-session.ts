import { OpenStackError } from '../../../src/addons/neutron/openstack/error.ts';
import type { HttpAnswer, HttpMethod } from '../../../src/addons/neutron/openstack/http.ts';
import type { NetworkRequest, OpenStackSession } from '../../../src/addons/neutron/openstack/session.ts';
import {
  type Filter,
  NEUTRON_NETWORKS,
  NEUTRON_PORTS,
  NEUTRON_SUBNETS,
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
    const at = { id, revision: revision === undefined ? undefined : Number(revision) };
    const kind = [NEUTRON_NETWORKS, NEUTRON_SUBNETS, NEUTRON_PORTS].find((each) => each.plural === plural);
    if (!kind) throw new OpenStackError(404, 'NotFound', `${method} ${path}`);
    const sent = (body as Readonly<Record<string, object>> | undefined)?.[kind.singular] ?? {};
    if (tags !== undefined) return api.tag(method === 'PUT' ? 'PUT' : 'DELETE', id, tag, signal);
    if (method === 'PUT') return api.update(kind, at, sent, signal);
    if (method === 'DELETE') return api.delete(kind, at, signal);
    if (method === 'POST') return { [kind.singular]: answerOf(await api.create<object>(kind, sent, signal)) };
    return { [plural]: (await api.list<{ readonly id: string }>(kind, filter, signal)).map(answerOf) };
  }
}

/** What the API calls otherwise. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ createdAt: 'created_at', revision: 'revision_number', subnetIds: 'subnets' },
  ...{ networkId: 'network_id', gateway: 'gateway_ip', pools: 'allocation_pools' },
  ...{ owner: 'device_owner', device: 'device_id', mac: 'mac_address' },
};

function answerOf(item: object): object {
  const { addresses = [], ...rest } = item as {
    readonly addresses?: readonly Readonly<Record<string, string>>[];
  };
  const renamed = Object.entries(rest).map(([name, value]) => [NAMES[name] ?? name, value]);
  const ips = addresses.map(({ subnetId, address }) => ({ subnet_id: subnetId, ip_address: address }));
  return { ...Object.fromEntries(renamed), ...(ips.length > 0 && { fixed_ips: ips }) };
}
