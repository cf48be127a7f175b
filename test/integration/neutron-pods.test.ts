import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { eventually } from '../env/eventually.ts';
import { describeWithNeutron } from '../support/describe-with-neutron.ts';
import { NeutronLab, noAuth } from '../support/neutron-lab.ts';
import { neutronNetwork, neutronSecret } from '../support/neutron-manifests.ts';
import { type OperatorFixture, startOperatorFixture } from '../support/operator-fixture.ts';

jest.setTimeout(900_000);

const ARGS = ['--leader-elect=false', '--workers=4', '--resync=5s', '--neutron-pods'];
/** `make neutron-fleet` has more. */
const PODS = Number(process.env.NEUTRON_PODS ?? 20);
const NETWORKS = Number(process.env.NEUTRON_NETWORKS ?? 2);
/** The second byte of the first Network's range. */
const FIRST_RANGE = 100;
/** Pods that are created at once. */
const BATCH = 50;
const OWNER = 'envoy-initializer:pod';

interface Port {
  readonly id: string;
  readonly name: string;
  readonly network_id: string;
  readonly device_id: string;
  readonly device_owner: string;
  readonly mac_address: string;
  readonly fixed_ips: readonly { readonly ip_address: string }[];
  readonly security_groups: readonly string[];
}

interface ApiPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly schedulingGates?: readonly unknown[] };
}

describeWithNeutron('pods on Networks of a real Neutron', (environment) => {
  let lab: NeutronLab;
  let fixture: OperatorFixture;
  /** How many Networks there have been, so that each has its own range. */
  const made = 0;

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

  async function live(name: string): Promise<ApiPod> {
    return JSON.parse(await fixture.kubectl('get', 'pod', name, '-o', 'json'));
  }

  async function opened(name: string): Promise<Readonly<Record<string, unknown>>> {
    await eventually(
      `${name} has no gate`,
      async () => (await live(name)).spec.schedulingGates === undefined,
    );
    return optionsIn(await live(name));
  }

  async function ports(query = ''): Promise<readonly Port[]> {
    const { ports: found } = await lab.call('GET', `/ports?${query}`);
    return found as unknown as readonly Port[];
  }

  const ofPods = () => ports(`device_owner=${OWNER}`);

  async function told(name: string, ...texts: readonly string[]): Promise<void> {
    await eventually(`${name} is told ${texts.join(', ')}`, async () => {
      const events = await fixture.kubectl('events', '--for', name);
      return texts.every((text) => events.includes(text));
    });
  }

  async function empty(): Promise<void> {
    await fixture.kubectl('delete', 'pods', '--all', '--now', '--wait=false');
    await eventually('no port of a pod is left', async () => (await ofPods()).length === 0);
    await fixture.kubectl('delete', 'networks', '--all', '--timeout=300s');
  }

  const requests = (method: string, part: string) =>
    lab.proxy.passed.filter((each) => each.method === method && each.url.includes(part)).length;

  test('each pod has one port, with two requests to make it and one to remove it', async () => {
    const names = Array.from({ length: NETWORKS }, (_, i) => `many-${i}`);
    await networks(...names);
    lab.proxy.heal();
    for (let from = 0; from < PODS; from += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, PODS - from) }, (_, i) => from + i);
      await fixture.apply(...batch.map((i) => pod(`pod-${i}`, names[i % NETWORKS] ?? '')));
      await eventually('all gates are open', async () =>
        (await pods()).every(({ spec }) => spec.schedulingGates === undefined),
      );
    }
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
    await told('network/many-0', 'waits for the pods that use it: default/pod-');
    lab.proxy.heal();
    for (let from = 0; from < PODS; from += BATCH) {
      const gone = (await pods()).slice(0, BATCH).map(({ metadata }) => metadata.name);
      await fixture.kubectl('delete', 'pods', ...gone, '--now', '--wait=false');
      const left = Math.max(0, PODS - from - BATCH);
      await eventually('their ports are gone', async () => (await ofPods()).length === left);
    }
    expect((await ports()).map(({ id: each }) => each)).toEqual([vm?.id]);
    expect(requests('DELETE', '/ports')).toBe(PODS);
    await told('network/many-0', `waits for the ports on its network in Neutron: ${vm?.id}`);
    await lab.call('DELETE', `/ports/${vm?.id}`);
    await fixture.kubectl('delete', 'networks', '--all', '--timeout=300s');
  });

  test('a pod chooses its address, its security groups, or a port', async () => {
    await networks('chosen');
    const range = `10.${FIRST_RANGE + made - 1}`;
    const { security_group: group } = await lab.call('POST', '/security-groups', {
      security_group: { name: 'web' },
    });
    const id = await fixture.kubectl('get', 'network', 'chosen', '-o', 'jsonpath={.status.externalID}');
    const { port: own } = await lab.call('POST', '/ports', { port: { network_id: id, name: 'mine' } });
    await fixture.apply(
      pod('fixed', { name: 'chosen', ips: [`${range}.7.7/16`], mac: '02:00:00:00:07:07' }),
      pod('grouped', { name: 'chosen', 'security-groups': [group?.id] }),
      pod('ported', { name: 'chosen', port: own?.id }),
    );
    expect(await opened('fixed')).toMatchObject({ ips: [`${range}.7.7/16`], mac: '02:00:00:00:07:07' });
    await opened('grouped');
    expect((await ports('name=default/grouped'))[0]?.security_groups).toEqual([group?.id]);
    expect(await opened('ported')).toMatchObject({ 'cni-args': { OvnPort: own?.id } });
    const second = pod('second', { name: 'chosen', port: own?.id });
    await fixture.apply(second);
    await told('pod/second', `port ${own?.id} is in use`);

    await fixture.kubectl('delete', 'pods', 'ported', 'second', '--now', '--wait=false');
    await eventually('the port of the user is free', async () => {
      const [port] = await ports(`id=${own?.id}`);
      return port?.device_id === '' && port.device_owner === '';
    });
    await lab.call('DELETE', `/ports/${own?.id}`);
    await expect(fixture.apply(pod('bad', { name: 'chosen', port: 'web' }))).rejects.toThrow(
      'has "web" as port: write the ID of a port in Neutron',
    );
    await empty();
  });

  test('what Neutron refuses is told to the pod, and to the Network if it meets all pods', async () => {
    const tiny = network('tiny', '192.168.77.0/30', '192.168.77.1');
    await fixture.apply(tiny);
    await networks('roomy');
    await fixture.kubectl('wait', 'network/tiny', '--for=condition=Ready', '--timeout=300s');
    await fixture.apply(pod('first', 'tiny'));
    await opened('first');
    await fixture.apply(pod('late', 'tiny'));
    await told('pod/late', 'AddressesExhausted', 'has no free address in Neutron');
    await fixture.kubectl(
      ...['wait', 'network/tiny', '--timeout=120s'],
      '--for=jsonpath={.status.conditions[?(@.type=="InUse")].reason}=AddressesExhausted',
    );
    await fixture.kubectl('delete', 'pod', 'first', '--now');
    await opened('late');

    const refused = { kind: 'answers', status: 409 } as const;
    const body = JSON.stringify({
      NeutronError: { type: 'OverQuota', message: "Quota exceeded for resources: ['port'].", detail: '' },
    });
    lab.proxy.mishap = ({ method, url }) =>
      method === 'POST' && url.includes('/ports') ? { ...refused, body } : undefined;
    await fixture.apply(pod('over', 'roomy'));
    await told('pod/over', 'PortRefused', "Quota exceeded for resources: ['port'].");
    const reason = (expected: string) =>
      `--for=jsonpath={.status.conditions[?(@.type=="InUse")].reason}=${expected}`;
    await fixture.kubectl('wait', 'network/roomy', reason('PortsRefused'), '--timeout=120s');
    lab.proxy.heal();
    await opened('over');
    await fixture.kubectl('wait', 'network/roomy', reason('PodsAttached'), '--timeout=120s');
    await empty();
  });

  test('while Neutron is away new pods wait and say so, and those that have a port stay', async () => {
    await networks('away');
    await fixture.apply(pod('before', 'away'));
    const had = await opened('before');
    lab.proxy.mishap = () => ({ kind: 'refused' });
    await fixture.apply(...Array.from({ length: 10 }, (_, i) => pod(`meanwhile-${i}`, 'away')));
    await eventually('each waiting pod is told', async () => {
      const events = await fixture.kubectl('events');
      const told = events.matchAll(/Pod\/(meanwhile-\d) +waits for its Network/g);
      return new Set(Array.from(told, ([, name]) => name)).size === 10;
    });
    lab.proxy.heal();
    for (let i = 0; i < 10; i += 1) await opened(`meanwhile-${i}`);
    expect(requests('POST', '/ports')).toBe(10);
    expect(optionsIn(await live('before'))).toEqual(had);
    expect(await ofPods()).toHaveLength(11);
    await empty();
  });

  test.each(['POST', 'DELETE'])(
    'killed at a %s without an answer: nothing is there twice, or left',
    async (method) => {
      await networks('killed');
      let seen = 0;
      const lost = new Promise<void>((resolve) => {
        lab.proxy.mishap = (request) => {
          if (request.method !== method || !request.url.includes('/ports')) return undefined;
          seen += 1;
          if (seen === 3) resolve();
          return seen >= 3 ? { kind: 'unanswered' } : undefined;
        };
      });
      const names = Array.from({ length: 6 }, (_, i) => `killed-${i}`);
      await fixture.apply(...names.map((name) => pod(name, 'killed')));
      if (method === 'DELETE') {
        for (const name of names) await opened(name);
        await fixture.kubectl('delete', 'pods', ...names, '--now', '--wait=false');
      }
      await lost;
      fixture.operator.process.kill('SIGKILL');
      lab.proxy.heal();
      if (method === 'POST') {
        // Force-deleted while the operator is away.
        await fixture.kubectl('delete', 'pod', 'killed-0', '--now', '--force');
      }
      await fixture.operator.restart();
      const left = method === 'POST' ? names.slice(1) : [];
      for (const name of left) await opened(name);
      await eventually('each pod has one port', async () => {
        const uids = (await pods()).map(({ metadata }) => metadata.uid).toSorted();
        return (
          JSON.stringify((await ofPods()).map(({ device_id: device }) => device).toSorted()) ===
          JSON.stringify(uids)
        );
      });
      expect(await pods()).toHaveLength(left.length);
      await empty();
    },
  );
});

/** The options of the pod's only network in Multus' annotation. */
function optionsIn({ metadata }: ApiPod): Readonly<Record<string, unknown>> {
  return JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/networks'] ?? '[{}]')[0];
}
