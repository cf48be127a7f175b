import { encode } from 'node:querystring';
import { isGone, UnusableAnswerError } from './openstack/error.ts';
import type { OpenStackSession } from './openstack/session.ts';
import {
  type Collection,
  type Filter,
  NEUTRON_NETWORKS,
  NEUTRON_PORTS,
  NEUTRON_SUBNETS,
  type NetworkChanges,
  type NeutronNetwork,
  type NeutronPort,
  type NeutronSubnet,
  type PortChanges,
  type PortToCreate,
  type SubnetChanges,
  type SubnetToCreate,
} from './resources.ts';

const PAGE_SIZE = 500;
/** The most pages of a list, so that a faulty server cannot send endless pages. */
const MAX_PAGES = 400;

/** A client of Neutron's API v2.0 (docs.openstack.org/api-ref/network/v2) that decodes all answers. */
export class NeutronClient {
  readonly #session: Pick<OpenStackSession, 'request' | 'close'>;
  readonly #pageSize: number;

  constructor(session: Pick<OpenStackSession, 'request' | 'close'>, { pageSize = PAGE_SIZE } = {}) {
    this.#session = session;
    this.#pageSize = pageSize;
  }

  networks(filter: Filter, signal: AbortSignal): Promise<readonly NeutronNetwork[]> {
    return this.#list(NEUTRON_NETWORKS, filter, signal);
  }

  subnets(filter: Filter, signal: AbortSignal): Promise<readonly NeutronSubnet[]> {
    return this.#list(NEUTRON_SUBNETS, filter, signal);
  }

  ports(filter: Filter, signal: AbortSignal): Promise<readonly NeutronPort[]> {
    return this.#list(NEUTRON_PORTS, filter, signal);
  }

  createNetwork(
    network: NetworkChanges & { readonly description: string },
    signal: AbortSignal,
  ): Promise<NeutronNetwork> {
    return this.#create(NEUTRON_NETWORKS, network, signal);
  }

  createSubnet(subnet: SubnetToCreate, signal: AbortSignal): Promise<NeutronSubnet> {
    // Clients configure the addresses of their ports, so DHCP is not needed.
    return this.#create(NEUTRON_SUBNETS, { ...subnet, enable_dhcp: false }, signal);
  }

  createPort(port: PortToCreate, signal: AbortSignal): Promise<NeutronPort> {
    return this.#create(NEUTRON_PORTS, port, signal);
  }

  /** The writes below fail with 412 if the resource changed since it was read. A deletion ignores a 404. */
  updatePort(port: NeutronPort, changes: PortChanges, signal: AbortSignal): Promise<void> {
    return this.#update(NEUTRON_PORTS, port, changes, signal);
  }

  deletePort(id: string, signal: AbortSignal): Promise<void> {
    return this.#delete(`/ports/${id}`, {}, signal);
  }

  updateNetwork(network: NeutronNetwork, changes: NetworkChanges, signal: AbortSignal): Promise<void> {
    return this.#update(NEUTRON_NETWORKS, network, changes, signal);
  }

  updateSubnet(subnet: NeutronSubnet, changes: SubnetChanges, signal: AbortSignal): Promise<void> {
    return this.#update(NEUTRON_SUBNETS, subnet, changes, signal);
  }

  /** Deletes the network and its subnets. Fails with 409 while it has ports. */
  deleteNetwork(network: NeutronNetwork, signal: AbortSignal): Promise<void> {
    return this.#delete(`/networks/${network.id}`, ifMatch(network), signal);
  }

  deleteSubnet(subnet: NeutronSubnet, signal: AbortSignal): Promise<void> {
    return this.#delete(`/subnets/${subnet.id}`, ifMatch(subnet), signal);
  }

  async addTag(networkId: string, tag: string, signal: AbortSignal): Promise<void> {
    await this.#session.request('PUT', { path: `/networks/${networkId}/tags/${tag}`, signal });
  }

  removeTag(networkId: string, tag: string, signal: AbortSignal): Promise<void> {
    return this.#delete(`/networks/${networkId}/tags/${tag}`, {}, signal);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /**
   * Reads all pages. A link only shows that there is another page: behind a proxy its URL may be wrong, and the token
   * must not be sent there.
   */
  async #list<T extends { readonly id: string }>(
    { plural, fields, decode }: Collection<T>,
    filter: Filter,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const items: T[] = [];
    const paging = { fields, limit: String(this.#pageSize), sort_key: 'id', sort_dir: 'asc' };
    for (let page = 1, marker: string | undefined; page <= MAX_PAGES; page++) {
      const query = { ...filter, ...paging, ...(marker !== undefined && { marker }) };
      const { body } = await this.#session.request('GET', { path: `/${plural}`, query, signal });
      const { list, hasNext } = readPage(body, plural);
      items.push(...list.map(decode));
      const last = items.at(-1)?.id;
      if (!hasNext) return items;
      if (list.length === 0 || last === marker) break;
      marker = last;
    }
    throw new UnusableAnswerError(
      `GET /${plural}?${encode({ ...filter })}: expected pages that end, got a repeated page or more than ${MAX_PAGES}`,
    );
  }

  async #create<T>(
    { plural, singular, decode }: Collection<T>,
    item: object,
    signal: AbortSignal,
  ): Promise<T> {
    const request = { path: `/${plural}`, body: { [singular]: item }, signal };
    const { body } = await this.#session.request('POST', request);
    return decode(fieldOf(body, singular));
  }

  async #update<T extends { readonly id: string; readonly revision: number | undefined }>(
    { plural, singular }: Collection<T>,
    item: T,
    changes: object,
    signal: AbortSignal,
  ): Promise<void> {
    const path = `/${plural}/${item.id}`;
    await this.#session.request('PUT', {
      path,
      headers: ifMatch(item),
      body: { [singular]: changes },
      signal,
    });
  }

  async #delete(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    try {
      await this.#session.request('DELETE', { path, headers, signal });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

/**
 * The header of Neutron's extension revision-if-match. An old Neutron has no revisions, so its writes are not tied.
 */
function ifMatch({ revision }: { readonly revision: number | undefined }): Readonly<Record<string, string>> {
  return revision === undefined ? {} : { 'if-match': `revision_number=${revision}` };
}

function readPage(body: unknown, plural: string): { list: readonly unknown[]; hasNext: boolean } {
  const list = fieldOf(body, plural);
  if (!Array.isArray(list)) {
    throw new UnusableAnswerError(`GET /${plural}: expected a list of ${plural}, got ${typeof list}`);
  }
  const links = fieldOf(body, `${plural}_links`);
  const hasNext = Array.isArray(links) && links.some((link) => fieldOf(link, 'rel') === 'next');
  return { list, hasNext };
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
}

/** The calls of the provider to Neutron. */
export type NeutronApi = Omit<NeutronClient, 'close'>;
