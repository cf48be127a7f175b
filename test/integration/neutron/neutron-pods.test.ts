import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { atEachWrite } from '../../support/neutron/neutron-deaths.ts';
import { NeutronLab, noAuth } from '../../support/neutron/neutron-lab.ts';
import { neutronNetwork, neutronSecret } from '../../support/neutron/neutron-manifests.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

const ARGS = ['--leader-elect=false', '--workers=4', '--resync=5s', '--neutron-pods'];
const PODS = 20;
const NETWORKS = 2;
jest.setTimeout(900_000);

const OWNER = 'envoy-initializer:pod';

interface Port {
  readonly id: string;
  readonly name: string;
  readonly network_id: string;
  readonly device_id: string;
  readonly device_owner: string;
  readonly mac_address: string;
  readonly security_groups: readonly string[];
  readonly fixed_ips: readonly { readonly ip_address: string }[];
}

interface ApiPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly schedulingGates?: readonly unknown[] };
}

describeWithNeutron('with a real Neutron', (environment) => {
  let lab: NeutronLab;
  let fixture: OperatorFixture;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment);
    fixture = await startOperatorFixture({ args: ARGS });
    await fixture.apply(neutronSecret(noAuth(lab.proxy.url)));
  });
  afterAll(async () => {
    await fixture?.stop();
    await lab?.stop();
  });
  beforeEach(() => lab.proxy.heal());

  /** Makes Networks, and waits until they are Ready. */
  async function networks(...names: readonly string[]): Promise<void> {
    await fixture.apply(
      ...names.map((name, i) => network(name, `10.${100 + i}.0.0/16`, `10.${100 + i}.0.1`)),
    );
    await fixture.kubectl(
      ...['wait', ...names.map((name) => `network/${name}`), '--for=condition=Ready', '--timeout=300s'],
    );
  }

  const network = (name: string, cidr: string, gateway: string) => neutronNetwork(name, { cidr, gateway });

  function pod(name: string, asked: string | object): object {
    const text = typeof asked === 'string' ? asked : JSON.stringify([asked]);
    return {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { namespace: 'default', name, annotations: { 'samplecrd.k8s.io/network': text } },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    };
  }

  async function pods(): Promise<readonly ApiPod[]> {
    return JSON.parse(await fixture.kubectl('get', 'pods', '-o', 'json')).items;
  }

  async function ports(query = ''): Promise<readonly Port[]> {
    const { ports: found } = await lab.call('GET', `/ports?${query}`);
    return found as unknown as readonly Port[];
  }

  const ofPods = () => ports(`device_owner=${OWNER}`);

  /** Events of one reason are counted as one, so the condition says what is the case now. */
  async function described(name: string, text: string): Promise<void> {
    await eventually(`Network ${name} says ${text}`, async () =>
      (await fixture.kubectl('describe', 'network', name)).includes(text),
    );
  }

  const requests = (method: string, part: string) =>
    lab.proxy.passed.filter((each) => each.method === method && each.url.includes(part)).length;

  test('each pod has one port in Neutron, with two requests to make it and one to remove it', async () => {
    const names = Array.from({ length: NETWORKS }, (_, i) => `many-${i}`);
    await networks(...names);
    lab.proxy.heal();
    await fixture.apply(
      ...Array.from({ length: PODS }, (_, i) => pod(`pod-${i}`, names[i % NETWORKS] ?? '')),
    );
    await eventually('all gates are open', async () =>
      (await pods()).every(({ spec }) => spec.schedulingGates === undefined),
    );
    expect(requests('POST', '/ports')).toBe(PODS);
    expect(requests('GET', 'device_id=')).toBe(PODS);
    expect(requests('PUT', '/ports')).toBe(0);

    const made = await ofPods();
    expect(made).toHaveLength(PODS);
    for (const each of await pods()) {
      const port = made.find(({ device_id: device }) => device === each.metadata.uid);
      expect(optionsIn(each)).toMatchObject({
        ips: [`${port?.fixed_ips[0]?.ip_address}/16`],
        mac: port?.mac_address,
        'cni-args': { OvnPort: port?.id },
      });
      expect(port?.name).toBe(`default/${each.metadata.name}`);
    }
    const definition = await fixture.kubectl(
      'get',
      'net-attach-def',
      'many-0',
      '-o',
      'jsonpath={.spec.config}',
    );
    expect(JSON.parse(definition).plugins).toEqual([
      {
        ...{ type: 'envoy-initializer-ovs', bridge: 'br-int', mtu: 1500 },
        ...{ capabilities: { ips: true, mac: true }, ipam: { type: 'static' } },
      },
    ]);

    // A foreign port, with our owner's name but of no pod of ours.
    const id = await fixture.kubectl('get', 'network', 'many-0', '-o', 'jsonpath={.status.externalID}');
    const foreign = { network_id: id, name: 'vm', device_owner: 'compute:nova', device_id: 'a-vm' };
    const { port: vm } = await lab.call('POST', '/ports', { port: foreign });
    await fixture.kubectl('delete', 'network', 'many-0', '--wait=false');
    await described('many-0', 'waiting for pods that use it: default/pod-');
    lab.proxy.heal();
    await fixture.kubectl('delete', 'pods', '--all', '--now', '--wait=false');
    await eventually('their ports are gone', async () => (await ofPods()).length === 0);
    expect((await ports()).map(({ id: each }) => each)).toEqual([vm?.id]);
    expect(requests('DELETE', '/ports')).toBe(PODS);
    await described('many-0', `waiting for ports on the network in Neutron: ${vm?.id}`);
    await lab.call('DELETE', `/ports/${vm?.id}`);
    await fixture.kubectl('delete', 'networks', '--all', '--timeout=300s');
  });

  /** Resolves when the pod's gate is open, with the options that it has got. */
  async function started(name: string): Promise<Readonly<Record<string, unknown>>> {
    let found: ApiPod | undefined;
    await eventually(`the gate of pod ${name} is open`, async () => {
      found = (await pods()).find(({ metadata }) => metadata.name === name);
      return found !== undefined && !found.spec.schedulingGates;
    });
    return found ? optionsIn(found) : {};
  }

  /** Resolves when an Event of the pod says so. */
  async function waits(name: string, reason: string, text: string): Promise<void> {
    const line = ['get', 'events', '--field-selector', `involvedObject.name=${name},reason=${reason}`];
    await eventually(`pod ${name} has the Event ${reason}`, async () =>
      (await fixture.kubectl(...line, '-o', 'jsonpath={.items[*].message}')).includes(text),
    );
  }

  const create = async (kind: string, fields: object): Promise<string> =>
    (await lab.call('POST', `/${kind.replace('_', '-')}s`, { [kind]: fields }))[kind]?.id ?? '';
  const idOf = (name: string) =>
    fixture.kubectl('get', 'network', name, '-o', 'jsonpath={.status.externalID}');

  describe('on one Network', () => {
    let id: string;

    beforeAll(async () => {
      await fixture.apply(network('one', '10.90.0.0/29', '10.90.0.1'));
      await fixture.kubectl('wait', 'network/one', '--for=condition=Ready', '--timeout=120s');
      id = await idOf('one');
    });
    afterEach(async () => {
      await fixture.kubectl('delete', 'pods', '--all', '--now', '--wait=false');
      await eventually('no port of a pod is left', async () => (await ofPods()).length === 0);
      for (const port of await ports(`network_id=${id}`)) await lab.call('DELETE', `/ports/${port.id}`);
    });
    afterAll(() => fixture.kubectl('delete', 'networks', '--all', '--timeout=120s'));

    test('a pod gets the address, the MAC and the security groups that it asks Neutron for', async () => {
      const group = await create('security_group', { name: 'group' });
      const asked = { ips: ['10.90.0.5/29'], mac: '02:00:00:00:00:05', 'security-groups': [group] };
      await fixture.apply(pod('choosy', { name: 'one', ...asked }));
      expect(await started('choosy')).toMatchObject({ ips: asked.ips, mac: asked.mac });
      const [port] = await ofPods();
      expect(port).toMatchObject({ mac_address: asked.mac, security_groups: [group] });
      expect(port?.fixed_ips[0]?.ip_address).toBe('10.90.0.5');
    });

    test('a pod uses the port in Neutron that it asks for, and leaves it there', async () => {
      const port = await create('port', { network_id: id, name: 'kept' });
      await fixture.apply(pod('user', { name: 'one', port }));
      expect(await started('user')).toMatchObject({ 'cni-args': { OvnPort: port } });
      expect(await ofPods()).toEqual([]);
      await fixture.apply(pod('rival', { name: 'one', port }));
      await waits('rival', 'WaitsForNetwork', `port ${port} is in use`);
      await fixture.kubectl('delete', 'pod', 'user', '--now');
      await started('rival');
      await fixture.kubectl('delete', 'pod', 'rival', '--now');
      await eventually('the port is free', async () => (await ports(`id=${port}`))[0]?.device_id === '');
    });

    test('what Neutron refuses is an Event of the pod, which starts as soon as it can', async () => {
      await fixture.apply(
        pod('unknown', { name: 'one', 'security-groups': ['2f1b7c2e-0000-4000-8000-000000000000'] }),
      );
      await waits('unknown', 'PortRefused', 'Security group 2f1b7c2e');
      const vm = await create('port', { network_id: id, fixed_ips: [{ ip_address: '10.90.0.2' }] });
      await fixture.apply(pod('late', { name: 'one', ips: ['10.90.0.2/29'] }));
      await waits('late', 'WaitsForNetwork', '10.90.0.2');
      await fixture.apply(...[3, 4, 5, 6].map((n) => pod(`full-${n}`, 'one')), pod('extra', 'one'));
      await eventually('Network one is full', async () => (await ofPods()).length === 4);
      const waiting = (await pods())
        .filter(({ spec }) => spec.schedulingGates)
        .map(({ metadata }) => metadata.name);
      const last = waiting.find((name) => /full|extra/.test(name)) ?? '';
      await waits(last, 'AddressesExhausted', 'has no free address');
      await lab.call('DELETE', `/ports/${vm}`);
      await eventually('one of those that wait has the address', async () => (await ofPods()).length === 5);
    });

    test('an operator that is killed at any write leaves no port behind in Neutron, and makes none twice', async () => {
      const kept = await create('port', { network_id: id, name: 'kept' });
      const made = await atEachWrite(lab, fixture, async (n) => {
        await fixture.apply(pod(`new-${n}`, 'one'));
        await started(`new-${n}`);
      });
      expect(made).toBe(1);
      expect((await ofPods()).map(({ name }) => name).sort()).toEqual(['default/new-0', 'default/new-1']);

      const borrowed = await atEachWrite(lab, fixture, async (n) => {
        await fixture.apply(pod(`user-${n}`, { name: 'one', port: kept }));
        await started(`user-${n}`);
        await fixture.kubectl('delete', 'pod', `user-${n}`, '--now');
        await eventually('the port is free', async () => (await ports(`id=${kept}`))[0]?.device_id === '');
      });
      expect(borrowed).toBe(2);

      const removed = await atEachWrite(lab, fixture, async (n) => {
        await fixture.kubectl('delete', 'pod', `new-${n}`, '--now');
        await eventually('its port is gone', async () =>
          (await ofPods()).every(({ name }) => name !== `default/new-${n}`),
        );
      });
      expect(removed).toBe(1);
      expect((await ports(`network_id=${id}`)).map((port) => port.id)).toEqual([kept]);
    });

    test('the port in Neutron of a pod that was deleted while no operator ran is removed', async () => {
      await fixture.apply(pod('orphan', 'one'));
      await started('orphan');
      fixture.operator.process.kill('SIGKILL');
      await fixture.operator.process.exited;
      await fixture.kubectl('delete', 'pod', 'orphan', '--grace-period=0', '--force');
      await fixture.operator.restart();
      await eventually('its port is removed', async () => (await ofPods()).length === 0);
    });
  });

  test('a pod on a Network with a range of each family has an address of both in Neutron', async () => {
    const secondary = { cidr: 'fd00:92::/64', gateway: 'fd00:92::1' };
    await fixture.apply(neutronNetwork('dual', { cidr: '10.92.0.0/24', gateway: '10.92.0.1', secondary }));
    await fixture.kubectl('wait', 'network/dual', '--for=condition=Ready', '--timeout=120s');
    await fixture.apply(pod('both', 'dual'));
    const { ips } = await started('both');
    expect(ips).toEqual([
      expect.stringMatching(/^10\.92\.0\.\d+\/24$/),
      expect.stringMatching(/^fd00:92::.*\/64$/),
    ]);
    await fixture.kubectl('delete', 'pod', 'both', '--now');
    await fixture.kubectl('delete', 'network', 'dual', '--timeout=120s');
  });
});

/** The options of the pod's only network in Multus' annotation. */
function optionsIn({ metadata }: ApiPod): Readonly<Record<string, unknown>> {
  return JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/networks'] ?? '[{}]')[0];
}
