import { encode } from 'node:querystring';
import { isArray, own, ownObjects } from '../../util/json.ts';
import { isGone, UnusableAnswerError } from './openstack/error.ts';
import type { OpenStackSession } from './openstack/session.ts';
import type { Collection, Filter } from './resources.ts';

const PAGE_SIZE = 500;
/** The most pages of a list, so that a faulty server cannot send endless pages. */
const MAX_PAGES = 400;

/** An old Neutron has no revisions, so its writes are not tied. */
export interface Identified {
  readonly id: string;
  readonly revision?: number | undefined;
}

/** What the provider calls. */
export type NeutronApi = Pick<NeutronClient, keyof NeutronClient>;

/** Neutron's API v2.0 (docs.openstack.org/api-ref/network/v2). */
export class NeutronClient {
  readonly #session: Pick<OpenStackSession, 'request'>;
  readonly #pageSize: number;

  constructor(session: Pick<OpenStackSession, 'request'>, { pageSize = PAGE_SIZE } = {}) {
    this.#session = session;
    this.#pageSize = pageSize;
  }

  /**
   * Reads all pages. A link only shows that there is another page: behind a proxy its URL may be wrong, and the token
   * must not be sent there.
   */
  async list<T extends Identified>(
    { plural, fields, decode }: Collection<T>,
    filter: Filter,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const items: T[] = [];
    const paging = { fields, limit: String(this.#pageSize), sort_key: 'id', sort_dir: 'asc' };
    for (let page = 1, marker: string | undefined; page <= MAX_PAGES; page++) {
      const query = { ...filter, ...paging, ...(marker !== undefined && { marker }) };
      const { body } = await this.#session.request('GET', { path: `/${plural}`, query, signal });
      const list = own(body, plural);
      if (!isArray(list)) {
        throw new UnusableAnswerError(`GET /${plural}: expected a list of ${plural}, got ${typeof list}`);
      }
      items.push(...list.map(decode));
      if (!ownObjects(body, `${plural}_links`).some((link) => own(link, 'rel') === 'next')) return items;
      const last = items.at(-1)?.id;
      if (list.length === 0 || last === marker) break;
      marker = last;
    }
    throw new UnusableAnswerError(
      `GET /${plural}?${encode({ ...filter })}: expected a last page, got a repeated one or over ${MAX_PAGES} pages`,
    );
  }

  async create<T>(
    { plural, singular, decode }: Collection<T>,
    item: object,
    signal: AbortSignal,
  ): Promise<T> {
    const request = { path: `/${plural}`, body: { [singular]: item }, signal };
    const { body } = await this.#session.request('POST', request);
    return decode(own(body, singular));
  }

  /** Fails with 412 if the item has changed since it was read. */
  async update(
    { plural, singular }: Collection<Identified>,
    item: Identified,
    changes: object,
    signal: AbortSignal,
  ): Promise<void> {
    const request = {
      path: `/${plural}/${item.id}`,
      headers: ifMatch(item),
      body: { [singular]: changes },
      signal,
    };
    await this.#session.request('PUT', request);
  }

  /**
   * Ignores a 404. With a revision, fails with 412 if the item has changed since it was read. A network goes with its
   * subnets, and fails with 409 while it has ports.
   */
  delete({ plural }: Collection<Identified>, item: Identified, signal: AbortSignal): Promise<void> {
    return this.#delete(`/${plural}/${item.id}`, ifMatch(item), signal);
  }

  async tag(verb: 'PUT' | 'DELETE', networkId: string, tag: string, signal: AbortSignal): Promise<void> {
    const path = `/networks/${networkId}/tags/${tag}`;
    if (verb === 'DELETE') return this.#delete(path, {}, signal);
    await this.#session.request('PUT', { path, signal });
  }

  async #delete(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    try {
      await this.#session.request('DELETE', { path, headers, signal });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

/** The header of Neutron's extension revision-if-match. */
function ifMatch({ revision }: Identified): Readonly<Record<string, string>> {
  return revision === undefined ? {} : { 'if-match': `revision_number=${revision}` };
}
