import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { NEUTRON_NETWORKS, NEUTRON_SUBNETS } from '../../../src/addons/neutron/resources.ts';
import type { Network, NetworkSpec } from '../../../src/networks/api/types.ts';
import { eventually } from '../../env/eventually.ts';
import type { RunningKeystone } from '../../env/neutron/start.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { follow } from '../../support/jest/follow.ts';
import { Reader } from '../../support/jest/reader.ts';
import { atEachWrite } from '../../support/neutron/neutron-deaths.ts';
import { NeutronLab, noAuth } from '../../support/neutron/neutron-lab.ts';
import { NEUTRON_SECRET, neutronNetwork, neutronSecret } from '../../support/neutron/neutron-manifests.ts';
import { OpenStackProxy } from '../../support/neutron/openstack-proxy.ts';
import { TlsCloud, tlsClouds } from '../../support/neutron/tls-cloud.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(900_000);

const ARGS = ['--leader-elect=false', '--workers=4', '--resync=5s'];
const { signal } = new AbortController();

const wait = (fixture: OperatorFixture, name: string, what: string) =>
  fixture.kubectl('wait', `network/${name}`, `--for=${what}`, '--timeout=120s');
const reason = (type: string, expected: string) =>
  `jsonpath={.status.conditions[?(@.type=="${type}")].reason}=${expected}`;
const metric = async (fixture: OperatorFixture, name: string) =>
  new RegExp(`^${name} (.*)$`, 'm').exec(await fixture.metrics())?.[1];

describeWithNeutron('with a real Keystone', (environment) => {
  let lab: NeutronLab;
  let keystone: RunningKeystone;
  let cloud: TlsCloud;
  let fixture: OperatorFixture;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment, { tokenLifetimeS: 3_600 });
    if (!lab.neutron.keystone) throw new Error('expected a Keystone');
    keystone = lab.neutron.keystone;
    cloud = await TlsCloud.start(lab);
    fixture = await startOperatorFixture({ args: ARGS });
  });
  afterAll(async () => {
    await fixture?.stop();
    await cloud?.close();
    await lab?.stop();
  });

  test('the operator follows the Secret of Keystone, and a Network through its life', async () => {
    await fixture.apply(neutronNetwork('walk', { cidr: '10.30.0.0/24', gateway: '10.30.0.1' }));
    await wait(fixture, 'walk', reason('Ready', 'ProviderUnavailable'));
    await told(
      `Secret ${OPERATOR_NAMESPACE}/${NEUTRON_SECRET} does not exist: it must hold an application credential`,
    );
    expect(await metric(fixture, 'envoy_initializer_neutron_available')).toBeUndefined();

    const { url } = await cloud.newKeystone();
    const { certPem } = cloud.authority;
    const wrong = { id: 'an-id', secret: 'a-wrong-secret' };
    const credential = await keystone.admin.createApplicationCredential(keystone.user, 'operator');
    await fixture.apply(neutronSecret(tlsClouds(url, credential, { cacert: '/etc/ssl/ca.pem' })));
    await told('cacert in clouds.yaml is invalid: expected PEM certificates; put');
    await fixture.apply(neutronSecret(tlsClouds(url, credential)));
    await told('certificate is not from a trusted CA');
    await fixture.apply(neutronSecret(tlsClouds(url, wrong), certPem));
    await told('refuses the application credential');
    await fixture.apply(neutronSecret(tlsClouds(url, credential), certPem));
    await wait(fixture, 'walk', 'condition=Ready');
    const created = await live('walk');
    expect(created.status).toMatchObject({
      ...{ cidr: '10.30.0.0/24', gateway: '10.30.0.1', provider: 'neutron' },
      capacity: { total: 253, allocated: 0 },
      externalID: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });

    const spec = { gateway: '10.30.0.9' };
    await fixture.kubectl('patch', 'network', 'walk', '--type=merge', '-p', JSON.stringify({ spec }));
    await wait(fixture, 'walk', 'jsonpath={.status.gateway}=10.30.0.9');
    expect((await live('walk')).status?.externalID).toBe(created.status?.externalID);

    await fixture.kubectl('delete', 'network', 'walk', '--timeout=120s');
    const events = await fixture.kubectl('events', '--for', 'network/walk');
    for (const told of ['ProviderUnavailable', 'Created', 'Updated', 'Deleted']) {
      expect(events).toContain(told);
    }
    const log = await readFile(fixture.logFile, 'utf8');
    expect(log).toContain('OpenStack credentials read');
    for (const hidden of [credential.secret, 'a-wrong-secret']) expect(log).not.toContain(hidden);
  });

  /** What is wrong is to be read in `kubectl describe`. */
  async function told(message: string): Promise<void> {
    await eventually(`it is told that ${message}`, async () =>
      (await fixture.kubectl('describe', 'network', 'walk')).includes(message),
    );
  }

  async function live(name: string): Promise<Network> {
    return JSON.parse(await fixture.kubectl('get', 'network', name, '-o', 'json'));
  }
});

describeWithNeutron('with a real Neutron', (environment) => {
  let lab: NeutronLab;
  let fixture: OperatorFixture;
  let hung: OpenStackProxy | undefined;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment);
    fixture = await startOperatorFixture({ args: ARGS });
    await fixture.apply(neutronSecret(noAuth(lab.proxy.url)));
  });
  afterAll(async () => {
    await fixture?.stop();
    await hung?.close();
    await lab?.stop();
  });

  const realNames = async () => {
    const networks = await lab.direct.api().list(NEUTRON_NETWORKS, {}, signal);
    return networks.map(({ name }) => name).sort();
  };

  /** `NAME: CIDR GATEWAY MTU` of every network there is in Neutron; one without a subnet has dashes. */
  async function real(): Promise<readonly string[]> {
    const api = lab.direct.api();
    const subnets = await api.list(NEUTRON_SUBNETS, {}, signal);
    const networks = await api.list(NEUTRON_NETWORKS, {}, signal);
    return networks
      .map(({ id, name, mtu }) => {
        const own = subnets.filter(({ networkId }) => networkId === id);
        return `${name}: ${own.map(({ cidr, gateway }) => `${cidr} ${gateway}`).join() || '- -'} ${mtu}`;
      })
      .sort();
  }

  const edit = (name: string, spec: object) =>
    fixture.kubectl('patch', 'network', name, '--type=merge', '-p', JSON.stringify({ spec }));
  const atEach = (step: (name: string) => Promise<unknown>) =>
    atEachWrite(lab, fixture, (n) => step(`net-${n}`));

  const first = (name: string): NetworkSpec => {
    const base = `10.50.${name.slice('net-'.length)}`;
    return { cidr: `${base}.0/24`, gateway: `${base}.1` };
  };
  const second = (name: string): NetworkSpec => {
    const base = `10.50.${name.slice('net-'.length)}`;
    return { cidr: `${base}.0/26`, gateway: `${base}.9`, mtu: 1400 };
  };
  const line = (name: string, { cidr, gateway, mtu = 1500 }: NetworkSpec) =>
    `default/${name}: ${cidr} ${gateway} ${mtu}`;
  const named = (count: number) => Array.from({ length: count }, (_, i) => `net-${i}`);

  test('the operator may be killed after any call of a creation, change and deletion of a Neutron Network', async () => {
    const creations = await atEach(async (name) => {
      await fixture.apply(neutronNetwork(name, first(name)));
      await wait(fixture, name, 'condition=Ready');
    });
    // The network, two tags, the subnet.
    expect(creations).toBe(4);
    const made = named(creations + 1);
    expect(await real()).toEqual(made.map((name) => line(name, first(name))));

    const changes = await atEach(async (name) => {
      await edit(name, second(name));
      await wait(fixture, name, 'jsonpath={.status.mtu}=1400');
    });
    // The MTU, the subnet that goes, and the one that comes.
    expect(changes).toBe(3);
    const changed = named(changes + 1);
    const unchanged = made.slice(changed.length);
    expect(await real()).toEqual([
      ...changed.map((name) => line(name, second(name))),
      ...unchanged.map((name) => line(name, first(name))),
    ]);

    const deletions = await atEach(async (name) => {
      await fixture.kubectl('delete', 'network', name, '--wait=false');
      await wait(fixture, name, 'delete');
    });
    expect(deletions).toBe(1);
    await fixture.kubectl('delete', 'network', '--all', '--timeout=120s');
    expect(await real()).toEqual([]);
  });

  test('the operator lets no Network of Multus wait for a Neutron that hangs', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `slow-${i}`);
    let hangs: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => {
      hangs = resolve;
    });
    hung = await OpenStackProxy.start(lab.neutron.url);
    const { givenUp, url } = hung;
    hung.mishap = () => {
      hangs();
      return { kind: 'hangs' };
    };
    await fixture.apply(neutronSecret(noAuth(url)));
    const slow = names.map((name, i) =>
      neutronNetwork(name, { cidr: `10.203.${i}.0/24`, gateway: `10.203.${i}.1` }),
    );
    await fixture.apply(...slow);
    await hanging;
    const spec = { cidr: '10.204.0.0/24', gateway: '10.204.0.1', provider: 'multus' };
    const quick = { ...Object(slow[0]), metadata: { namespace: 'default', name: 'quick' }, spec };
    await fixture.apply(quick);
    const first = await Promise.race([
      wait(fixture, 'quick', 'condition=Ready').then(() => 'it is Ready'),
      givenUp.then(() => 'Neutron was given up'),
    ]);
    expect(first).toBe('it is Ready');
    await fixture.apply(neutronSecret(noAuth(lab.neutron.url)));
    await fixture.kubectl('delete', 'network', 'quick', ...names, '--timeout=120s');
  });

  test('the operator makes what is Ready for others than pods in Neutron, and tells a pod that asks for it', async () => {
    const pod = (name: string) => ({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { namespace: 'default', name, annotations: { 'samplecrd.k8s.io/network': 'no-pods' } },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    });
    await fixture.apply(pod('early'));
    await fixture.apply(neutronNetwork('no-pods', { cidr: '10.201.0.0/24', gateway: '10.201.0.1' }));
    await wait(fixture, 'no-pods', 'condition=Ready');
    expect(await fixture.kubectl('get', 'network', 'no-pods', '-o', 'wide')).toMatch(
      /^no-pods +10\.201\.0\.0\/24 +10\.201\.0\.1 +True +0 +ProviderCannotAttach /m,
    );
    await expect(fixture.apply(pod('late'))).rejects.toThrow(
      'denied the request: ProviderCannotAttach: Network default/no-pods has provider neutron, to which pods cannot attach: name a Network with provider multus',
    );
    await eventually('the pod that came first is told', async () =>
      / Warning +ProviderCannotAttach +Pod\/early +not attached yet: ProviderCannotAttach/.test(
        await fixture.kubectl('events', '--for', 'pod/early'),
      ),
    );
    expect(await fixture.kubectl('get', 'pod', 'early', '-o', 'jsonpath={.spec.schedulingGates}')).toBe(
      '[{"name":"samplecrd.k8s.io/network"}]',
    );
    await fixture.kubectl('delete', 'network', 'no-pods', '--timeout=120s');
  });

  test('docs/neutron.md # Walkthrough prints what it says', async () => {
    await follow(await Reader.at(fixture.controlPlane), 'docs/neutron.md', '## Walkthrough');
    expect(await realNames()).toEqual(['default/neutron-network']);
    await fixture.kubectl('delete', 'network', 'neutron-network', '--timeout=120s');
  });

  test('the operator removes from Neutron what a Network left behind whose finalizer somebody took off', async () => {
    await fixture.apply(neutronNetwork('left', { cidr: '10.200.0.0/24', gateway: '10.200.0.1' }));
    await wait(fixture, 'left', 'condition=Ready');
    fixture.operator.process.kill('SIGKILL');
    await fixture.kubectl('delete', 'network', 'left', '--wait=false');
    const patch = '{"metadata":{"finalizers":null}}';
    await fixture.kubectl('patch', 'network', 'left', '--type=merge', '-p', patch);
    expect(await realNames()).toEqual(['default/left']);
    await fixture.operator.restart();
    await eventually('the leftover is removed', async () => (await realNames()).length === 0);
    await eventually('the log says so', async () =>
      (await readFile(fixture.logFile, 'utf8')).includes('removed a leftover network'),
    );
  });
});
