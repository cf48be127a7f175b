import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { RunningKeystone } from '../../env/neutron/start.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { NeutronLab } from '../../support/neutron/neutron-lab.ts';
import { type Mishap, OpenStackProxy } from '../../support/neutron/openstack-proxy.ts';

jest.setTimeout(300_000);

const { signal } = new AbortController();

describeWithNeutron('a real Neutron that', (environment) => {
  let lab: NeutronLab;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment);
  });
  afterEach(async () => {
    lab.proxy.heal();
    await lab.clearAll();
  });
  afterAll(() => lab?.stop());

  const OUTAGES: readonly [string, Mishap, string][] = [
    ['is down', { kind: 'refused' }, 'GET http'],
    ['is slow', { kind: 'hangs' }, 'not done within 200 ms'],
    ['is overloaded', answers(503, 'busy'), 'Neutron, GET /networks: 503'],
    ['says nothing', answers(200, ''), 'expected a list of networks'],
    ['says nonsense', answers(200, '<html>'), 'expected JSON, got "<html>"'],
    ['says too much', answers(200, ' '.repeat(9_000_000)), 'exceeded'],
    ['says something else', answers(200, '{"networks": null}'), 'expected a list of networks'],
    ['has networks without an ID', answers(200, '{"networks": [{"name": "x"}]}'), 'expected an ID as id'],
    ['has IDs that are paths', answers(200, '{"networks": [{"id": "../ports"}]}'), 'expected an ID as id'],
    [
      'has pages without end',
      answers(
        200,
        '{"networks": [{"id": "a"}], "networks_links": [{"rel": "next", "href": "http://x.test"}]}',
      ),
      'expected pages that end',
    ],
    ['lets us in no more', answers(403, '{}'), 'Neutron, GET /networks: 403'],
    ['sends us elsewhere', answers(302, ''), 'Neutron, GET /networks: 302'],
  ];

  test.each(OUTAGES)('%s harms no network, and is told', async (_, mishap, message) => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const timeoutMs = mishap.kind === 'hangs' ? 200 : 10_000;
    const operator = lab.operator({ timeoutMs });
    lab.proxy.spoilFrom(0, mishap);
    const edited = { ...network, spec: { cidr: '10.6.0.0/24', gateway: '10.6.0.1' } };
    const outcome = await lab.ensure(edited, operator).catch((error: unknown) => ({
      reason: 'ProviderUnavailable',
      message: String(error),
    }));
    expect(outcome).toMatchObject({
      reason: 'ProviderUnavailable',
      message: expect.stringContaining(message),
    });
    expect(await operator.actual(network, signal)).toBeUndefined();
    const removal = await lab.remove(network, lab.operator({ timeoutMs })).catch(String);
    expect(removal).not.toEqual({ kind: 'gone' });
    lab.proxy.heal();
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready', change: 'none' });
  });

  test('passes over filters harms no network of others', async () => {
    const [ours, theirs] = [lab.newNetwork(), lab.newNetwork()];
    await lab.ensure(theirs);
    const { networks } = await lab.real(theirs);
    const [found] = networks;
    const item = { ...found, created_at: '', subnets: [] };
    lab.proxy.mishap = ({ method }) =>
      method === 'GET' ? answers(200, JSON.stringify({ networks: [item] })) : undefined;
    expect(await lab.remove(ours)).toEqual({ kind: 'gone' });
    lab.proxy.heal();
    expect(await lab.shapes(theirs)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('is asked once for all Networks while it is down', async () => {
    const operator = lab.operator();
    lab.proxy.spoilFrom(0, { kind: 'refused' });
    const networks = Array.from({ length: 20 }, () => lab.newNetwork());
    for (const network of networks) await lab.ensure(network, operator);
    expect(lab.proxy.passed).toHaveLength(1);
  });

  test('answers too late makes no second network', async () => {
    const network = lab.newNetwork();
    lab.proxy.mishap = ({ method }) => (method === 'POST' ? { kind: 'unanswered' } : undefined);
    expect(await lab.ensure(network)).toMatchObject({ reason: 'ProviderUnavailable' });
    lab.proxy.heal();
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready' });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('was killed and is back is gone on with', async () => {
    const network = lab.newNetwork();
    const operator = lab.operator();
    await lab.neutron.kill();
    expect(await lab.ensure(network, operator)).toMatchObject({ reason: 'ProviderUnavailable' });
    await lab.neutron.start();
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready', change: 'created' });
  });
});

describeWithNeutron('a real Keystone before it', (environment) => {
  /** Tokens expire while the tests run, but not while one request is answered. */
  const TOKEN_LIFETIME_S = 20;
  let lab: NeutronLab;
  let keystone: RunningKeystone;
  let keystoneProxy: OpenStackProxy;
  let cloudsYaml: string;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment, { tokenLifetimeS: TOKEN_LIFETIME_S });
    if (!lab.neutron.keystone) throw new Error('expected a Keystone');
    keystone = lab.neutron.keystone;
    keystoneProxy = await OpenStackProxy.start(new URL(keystone.url).origin);
    cloudsYaml = await newCredential();
  });
  afterEach(() => {
    lab.proxy.heal();
    keystoneProxy.heal();
  });
  afterAll(async () => {
    await keystoneProxy?.close();
    await lab?.stop();
  });

  async function newCredential(): Promise<string> {
    await keystone.admin.logIn();
    const name = `credential-${performance.now()}`;
    const { id, secret } = await keystone.admin.createApplicationCredential(keystone.user, name);
    return clouds(id, secret);
  }

  const clouds = (id: string, secret: string) =>
    JSON.stringify({
      clouds: {
        lab: {
          auth: {
            auth_url: keystoneProxy.url,
            application_credential_id: id,
            application_credential_secret: secret,
          },
          network_endpoint_override: lab.proxy.url,
        },
      },
    });
  const tokens = () => keystoneProxy.passed.filter(({ url }) => url === '/v3/auth/tokens').length;

  test('takes an application credential', async () => {
    const network = lab.newNetwork();
    const operator = lab.operator({ cloudsYaml });
    expect(await lab.ensure(network, operator)).toMatchObject({ kind: 'ready', change: 'created' });
    expect(await lab.remove(network, operator)).toEqual({ kind: 'gone' });
  });

  test('has tokens that expire, which nobody notices', async () => {
    const operator = lab.operator({ cloudsYaml });
    const network = lab.newNetwork();
    for (let n = 0; tokens() < 3; n++) {
      const edited = { ...network, spec: { ...network.spec, gateway: `10.5.0.${(n % 200) + 1}` } };
      expect(await lab.ensure(edited, operator)).toMatchObject({ kind: 'ready' });
    }
    expect(await lab.remove(network, operator)).toEqual({ kind: 'gone' });
  });

  test('may take the token back before any call, which is made again with a new one', async () => {
    const operator = lab.operator({ cloudsYaml });
    let revoked: Promise<void> | undefined;
    lab.proxy.mishap = ({ token = '' }, nth) => {
      // Every other one: what comes after a refusal has a new token, which is refused at the next call.
      revoked = nth % 2 === 0 ? keystone.admin.revoke(token) : undefined;
      return undefined;
    };
    lab.proxy.waitBefore = () => revoked;
    expect(await lab.ensure(lab.newNetwork(), operator)).toMatchObject({ kind: 'ready', change: 'created' });
    expect(lab.proxy.passed.length).toBeGreaterThan(16);
    expect(tokens()).toBe(1 + lab.proxy.passed.length / 2);
  });

  test('that refuses the credential is told, without the credential', async () => {
    const outcome = await lab.ensure(lab.newNetwork(), lab.operator({ cloudsYaml: clouds('an-id', 'hush') }));
    expect(outcome).toMatchObject({
      reason: 'ProviderUnavailable',
      message: expect.stringMatching(
        /^Keystone, POST http.*, refuses the application credential: 404 Could not find/,
      ),
    });
  });

  test.each<[string, Mishap, RegExp]>([
    ['is down', { kind: 'refused' }, /auth\/tokens/],
    ['says nonsense', answers(201, '{"token": {}}'), /expected a token with its times, got none/],
    ['is ill', answers(500, '{"error": {"message": "ouch"}}'), /Keystone, POST .*: 500 ouch/],
  ])('that %s is told', async (_, mishap, message) => {
    keystoneProxy.mishap = () => mishap;
    const outcome = await lab.ensure(lab.newNetwork(), lab.operator({ cloudsYaml }));
    expect(outcome).toMatchObject({
      reason: 'ProviderUnavailable',
      message: expect.stringMatching(message),
    });
  });
});

function answers(status: number, body: string): Mishap {
  return { kind: 'answers', status, body };
}
