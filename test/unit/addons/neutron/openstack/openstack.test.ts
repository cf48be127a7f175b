import { expect, test } from '@jest/globals';
import { type Cloud, parseClouds } from '../../../../../src/addons/neutron/openstack/cloud.ts';
import { isGone, isUnavailable } from '../../../../../src/addons/neutron/openstack/error.ts';
import {
  type HttpAnswer,
  type HttpRequest,
  OpenStackHttp,
} from '../../../../../src/addons/neutron/openstack/http.ts';
import { OpenStackSession } from '../../../../../src/addons/neutron/openstack/session.ts';
import { TransportError } from '../../../../../src/kube/api/api-error.ts';
import type { JsonArray } from '../../../../../src/util/json.ts';
import { SilentServer } from '../../../../support/kube/silent-server.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

test('a request to OpenStack ends with its signal while the handshake hangs', async () => {
  const silent = await SilentServer.start();
  const http = new OpenStackHttp({ clock: new FakeClock() });
  const controller = new AbortController();
  const url = new URL(`https://127.0.0.1:${silent.port}/v2.0/networks`);
  const sent = http.send({ method: 'POST', url, signal: controller.signal });
  await silent.connected;
  controller.abort(new Error('the term is over'));
  await expect(sent).rejects.toThrow('the term is over');
  expect(silent.openConnections).toBe(1);
  await http.close();
  await silent.close();
});

test('a request to OpenStack is not sent if guard throws', async () => {
  const signals: AbortSignal[] = [];
  const http = new OpenStackHttp({
    clock: new FakeClock(),
    guard(signal) {
      signals.push(signal);
      throw new Error('this process is not the leader');
    },
  });
  const { signal } = new AbortController();
  const sent = http.send({ method: 'POST', url: new URL('http://127.0.0.1:1/'), signal });
  await expect(sent).rejects.toThrow('this process is not the leader');
  expect(signals).toEqual([signal]);
  await http.close();
});

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

test('a session of OpenStack fetches one token for concurrent requests, and finds Neutron in its catalog', async () => {
  const services = new FakeServices();
  const session = services.session();
  await Promise.all([list(session), list(session)]);
  await list(session);
  const call = 'GET https://neutron.test/network/v2.0/networks token-1';
  expect(services.requests).toEqual(['keystone', call, call, call]);
});

test('a session of OpenStack renews a refused token, and retries once', async () => {
  const services = new FakeServices();
  const session = services.session();
  await list(session);
  services.refused.add('token-1');
  await Promise.all([list(session), list(session)]);
  expect(services.requests.filter((request) => request === 'keystone')).toHaveLength(2);
  services.refused.add('token-2').add('token-3');
  await expect(list(session)).rejects.toThrow('Neutron: GET /networks: 401');
  expect(services.requests.slice(-3)).toEqual([
    expect.stringContaining('token-2'),
    'keystone',
    expect.stringContaining('token-3'),
  ]);
});

test('a session of OpenStack reports a refused credential otherwise than a deleted network', async () => {
  const services = new FakeServices();
  services.keystone = 'refuses';
  const error = await list(services.session()).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('refuses the application credential: POST');
  expect([isGone(error), isUnavailable(error)]).toEqual([false, true]);
});

test.each<[string, string, RegExp]>([
  ['a missing region', '"region_name":"nine"', /no public endpoint for the network service in region nine/],
  ['several regions without a region_name', '"x":""', /\(two, one\): set region_name/],
])('a session of OpenStack reports a problem of the catalog: %s', async (_, field, message) => {
  const cloud = parseClouds(clouds.replace('"region_name":"one"', field), undefined);
  await expect(list(new FakeServices().session(cloud))).rejects.toThrow(message);
});

/** The format of Horizon's download for an application credential. */
const DOWNLOADED = `
# This is a clouds.yaml file, which can be used by OpenStack tools as a source
clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.org:5000
      application_credential_id: "the-id"
      application_credential_secret: "the-secret"
    region_name: "RegionOne"
    interface: "public"
    identity_api_version: 3
    auth_type: "v3applicationcredential"
`;

const cloud = (fields: object, name = 'openstack') => JSON.stringify({ clouds: { [name]: fields } });
const auth = {
  auth_url: 'https://k.example.org/identity/v3',
  application_credential_id: 'the-id',
  application_credential_secret: 'the-secret',
};

test('a clouds.yaml may have the format of Horizon', () => {
  const { keystone, ...rest } = parseClouds(DOWNLOADED, undefined);
  expect(keystone?.url.href).toBe('https://keystone.example.org:5000/v3');
  expect(keystone?.credential).toEqual({ id: 'the-id', secret: 'the-secret' });
  expect(rest).toEqual({
    name: 'openstack',
    region: 'RegionOne',
    interface: 'public',
    endpoint: undefined,
    ca: undefined,
  });
});

test('a clouds.yaml has one cloud of any name, or one named openstack', () => {
  expect(parseClouds(cloud({ auth }, 'mine'), undefined).name).toBe('mine');
  const two = JSON.stringify({ clouds: { mine: {}, openstack: { auth } } });
  expect(parseClouds(two, undefined).name).toBe('openstack');
});

test('a clouds.yaml may be of a Neutron without authentication', () => {
  const { keystone, endpoint } = parseClouds(
    cloud({ auth_type: 'none', auth: { endpoint: 'http://127.0.0.1:9696' } }),
    undefined,
  );
  expect(keystone).toBeUndefined();
  expect(endpoint?.href).toBe('http://127.0.0.1:9696/');
});

test.each<[string, string, RegExp]>([
  ['is not YAML', 'a: [', /is not YAML/],
  ['has no cloud', 'a: 1', /a mapping `clouds`/],
  ['has several clouds', '{"clouds":{"a":{},"b":{}}}', /one cloud, or one named openstack, got a, b/],
  ['has a password', cloud({ auth: { auth_url: 'https://k', password: 'hush' } }), /passwords are not supp/],
  ['has no URL', cloud({ auth: { ...auth, auth_url: 'keystone:5000' } }), /auth.auth_url must be a URL/],
  ['disables verification', cloud({ auth, verify: false }), /drop it, and set the Secret's cacert/],
  ['has an unknown interface', cloud({ auth, interface: 'secret' }), /public, internal or admin/],
  ['has no address', cloud({ auth_type: 'none' }), /needs auth.endpoint/],
])('a clouds.yaml that %s is refused, and the message says what to write', (_, text, message) => {
  expect(() => parseClouds(text, undefined)).toThrow(message);
});

test('a clouds.yaml with an invalid certificate is refused, and the message says where to put one', () => {
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const messageFor = (where: string) =>
    `${where} is invalid: expected PEM certificates; put the CA certificate`;
  for (const none of ['', 'rubbish', broken]) {
    expect(() => parseClouds(cloud({ auth }), none)).toThrow(messageFor('key cacert'));
  }
  const path = cloud({ auth, cacert: '/etc/ssl/ca.pem' });
  expect(() => parseClouds(path, undefined)).toThrow(messageFor('cacert in clouds.yaml'));
});

test.each([
  'application_credential_secret: hush\n  : [',
  cloud({ auth: { ...auth, auth_url: 'hush', application_credential_secret: 'hush' } }),
  cloud({ auth: { application_credential_secret: 'hush', password: 'hush' } }),
])('a clouds.yaml never shows its secret in a message', (text) => {
  const refusal = (() => {
    try {
      return parseClouds(text, undefined);
    } catch (error) {
      return error;
    }
  })();
  expect(refusal).toBeInstanceOf(Error);
  expect(`${refusal} ${(refusal as Error).cause}`).not.toContain('hush');
});
