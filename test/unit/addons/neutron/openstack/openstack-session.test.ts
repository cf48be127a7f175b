import { describe, expect, test } from '@jest/globals';
import { type Cloud, parseClouds } from '../../../../../src/addons/neutron/openstack/cloud.ts';
import { isGone, isUnavailable } from '../../../../../src/addons/neutron/openstack/error.ts';
import type {
  HttpAnswer,
  HttpRequest,
  OpenStackHttp,
} from '../../../../../src/addons/neutron/openstack/http.ts';
import { OpenStackSession } from '../../../../../src/addons/neutron/openstack/session.ts';
import { TransportError } from '../../../../../src/kube/api/api-error.ts';
import type { JsonArray } from '../../../../../src/util/json.ts';

const { signal } = new AbortController();
const clouds = JSON.stringify({
  clouds: {
    lab: {
      auth: {
        auth_url: 'https://keystone.test/v3',
        application_credential_id: 'id',
        application_credential_secret: 'secret',
      },
      region_name: 'one',
    },
  },
});

function endpoint(region: string, face: string, url: string) {
  return { region_id: region, interface: face, url };
}

/** A Keystone, and a Neutron that accepts those that are not refused. */
class FakeServices {
  readonly requests: string[] = [];
  readonly refused = new Set<string>();
  keystone: 'up' | 'down' | 'refuses' = 'up';
  catalog: JsonArray = [
    { type: 'identity', endpoints: [endpoint('one', 'public', 'https://keystone.test')] },
    {
      type: 'network',
      endpoints: [
        endpoint('two', 'public', 'https://elsewhere.test'),
        endpoint('one', 'internal', 'https://inside.test'),
        endpoint('one', 'public', 'https://neutron.test/network'),
      ],
    },
  ];
  #issued = 0;

  readonly http: Pick<OpenStackHttp, 'send' | 'close'> = {
    send: async (request) => this.#answer(request),
    close: async () => {},
  };

  session(cloud: Cloud = parseClouds(clouds, undefined)): OpenStackSession {
    return new OpenStackSession(cloud, this.http);
  }

  #answer({ method, url, headers }: HttpRequest): HttpAnswer {
    const header = (name: string) => (name === 'x-subject-token' ? `token-${this.#issued}` : undefined);
    if (url.hostname === 'keystone.test') {
      this.requests.push('keystone');
      if (this.keystone === 'down') throw new TransportError('down', 'ECONNREFUSED', undefined);
      if (this.keystone === 'refuses') return { status: 404, header, body: undefined };
      this.#issued++;
      return { status: 201, header, body: { token: { catalog: this.catalog } } };
    }
    const token = headers?.['x-auth-token'] ?? 'none';
    this.requests.push(`${method} ${url.href} ${token}`);
    return { status: this.refused.has(token) ? 401 : 200, header, body: { networks: [] } };
  }
}

const list = (session: OpenStackSession) => session.request('GET', { path: '/networks', signal });

describe('a session', () => {
  test('fetches one token for concurrent requests, and finds Neutron in its catalog', async () => {
    const services = new FakeServices();
    const session = services.session();
    await Promise.all([list(session), list(session)]);
    await list(session);
    const call = 'GET https://neutron.test/network/v2.0/networks token-1';
    expect(services.requests).toEqual(['keystone', call, call, call]);
  });

  test('renews a refused token, and retries once', async () => {
    const services = new FakeServices();
    const session = services.session();
    await list(session);
    services.refused.add('token-1');
    await Promise.all([list(session), list(session)]);
    expect(services.requests.filter((request) => request === 'keystone')).toHaveLength(2);
    services.refused.add('token-2').add('token-3');
    await expect(list(session)).rejects.toThrow('Neutron, GET /networks: 401');
    expect(services.requests.slice(-3)).toEqual([
      expect.stringContaining('token-2'),
      'keystone',
      expect.stringContaining('token-3'),
    ]);
  });

  test('reports a refused credential with an error other than for a deleted network', async () => {
    const services = new FakeServices();
    services.keystone = 'refuses';
    const error = await list(services.session()).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('refuses the application credential: 404');
    expect([isGone(error), isUnavailable(error)]).toEqual([false, true]);
  });

  test.each<[string, string, RegExp]>([
    ['a missing region', '"region_name":"nine"', /no public endpoint of the network service in region nine/],
    ['several regions without a region_name', '"x":""', /\(two, one\): set region_name/],
  ])('reports a problem of the catalog: %s', async (_, field, message) => {
    const cloud = parseClouds(clouds.replace('"region_name":"one"', field), undefined);
    await expect(list(new FakeServices().session(cloud))).rejects.toThrow(message);
  });
});
