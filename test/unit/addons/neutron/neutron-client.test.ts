import { describe, expect, test } from '@jest/globals';
import { NeutronClient } from '../../../../src/addons/neutron/client.ts';
import { OpenStackError } from '../../../../src/addons/neutron/openstack/error.ts';
import type { NetworkRequest, OpenStackSession } from '../../../../src/addons/neutron/openstack/session.ts';
import { NEUTRON_NETWORKS } from '../../../../src/addons/neutron/resources.ts';
import type { JsonValue } from '../../../../src/util/json.ts';

const { signal } = new AbortController();

/** A session that answers with these bodies in order. */
function clientOf(...bodies: readonly (JsonValue | Error | undefined)[]) {
  const requests: { readonly method: string; readonly request: NetworkRequest }[] = [];
  const rest = [...bodies];
  const session: Pick<OpenStackSession, 'request' | 'close'> = {
    request: async (method, request) => {
      requests.push({ method, request });
      const body = rest.shift();
      if (body instanceof Error) throw body;
      return { status: 200, header: () => undefined, body };
    },
    close: async () => {},
  };
  return { client: new NeutronClient(session, { pageSize: 2 }), requests };
}

const next = (href: string) => [{ rel: 'next', href }];

describe('a list', () => {
  test('is read by page after the last ID, and not by link', async () => {
    const { client, requests } = clientOf(
      { networks: [{ id: 'a' }, { id: 'b' }], networks_links: next('https://elsewhere.test/?marker=x') },
      { networks: [{ id: 'c' }], networks_links: [{ rel: 'previous', href: '' }] },
    );
    const networks = await client.list(NEUTRON_NETWORKS, { description: 'd' }, signal);
    expect(networks.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(
      requests.map(({ request }) => [request.path, request.query?.description, request.query?.marker]),
    ).toEqual([
      ['/networks', 'd', undefined],
      ['/networks', 'd', 'b'],
    ]);
  });

  test.each<[string, readonly (JsonValue | undefined)[]]>([
    [
      'repeats its page',
      [
        { networks: [{ id: 'a' }], networks_links: next('') },
        { networks: [{ id: 'a' }], networks_links: next('') },
      ],
    ],
    ['has an empty page and a next one', [{ networks: [], networks_links: next('') }]],
  ])('that %s is refused', async (_, bodies) => {
    await expect(clientOf(...bodies).client.list(NEUTRON_NETWORKS, {}, signal)).rejects.toThrow(
      'a last page',
    );
  });

  test.each<[JsonValue | undefined]>([
    [undefined],
    ['networks'],
    [{ networks: {} }],
    [{ networks: [7] }],
    [{ networks: [{ id: '' }] }],
  ])('of %j is refused, and does not count as empty', async (body) => {
    await expect(clientOf(body).client.list(NEUTRON_NETWORKS, {}, signal)).rejects.toThrow(/expected/);
  });
});

describe('a write', () => {
  const network = {
    ...{ id: 'a', name: '', description: '', mtu: 1500, tags: [], createdAt: '', subnetIds: [] },
    revision: 7,
  };

  test('is tied to the revision that was read', async () => {
    const { client, requests } = clientOf({}, {});
    await client.update(NEUTRON_NETWORKS, network, { mtu: 1400 }, signal);
    await client.delete(NEUTRON_NETWORKS, network, signal);
    expect(requests.map(({ method, request }) => [method, request.headers])).toEqual([
      ['PUT', { 'if-match': 'revision_number=7' }],
      ['DELETE', { 'if-match': 'revision_number=7' }],
    ]);
  });

  test('is not tied if the server has no revisions', async () => {
    const { client, requests } = clientOf({});
    await client.delete(NEUTRON_NETWORKS, { ...network, revision: undefined }, signal);
    expect(requests[0]?.request.headers).toEqual({});
  });

  test('that deletes ignores a 404, and no other error', async () => {
    const gone = new OpenStackError(404, 'NetworkNotFound', 'gone');
    const refused = new OpenStackError(409, 'NetworkInUse', 'in use');
    const { client } = clientOf(gone, refused);
    await client.delete(NEUTRON_NETWORKS, network, signal);
    await expect(client.delete(NEUTRON_NETWORKS, network, signal)).rejects.toBe(refused);
  });
});
