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
    await described('many-0', 'waits for the pods that use it: default/pod-');
    lab.proxy.heal();
    for (let from = 0; from < PODS; from += BATCH) {
      const gone = (await pods()).slice(0, BATCH).map(({ metadata }) => metadata.name);
      await fixture.kubectl('delete', 'pods', ...gone, '--now', '--wait=false');
      const left = Math.max(0, PODS - from - BATCH);
      await eventually('their ports are gone', async () => (await ofPods()).length === left);
    }
    expect((await ports()).map(({ id: each }) => each)).toEqual([vm?.id]);
    expect(requests('DELETE', '/ports')).toBe(PODS);
    await described('many-0', `waits for the ports on its network in Neutron: ${vm?.id}`);
    await lab.call('DELETE', `/ports/${vm?.id}`);
    await fixture.kubectl('delete', 'networks', '--all', '--timeout=300s');
  });
});

/** The options of the pod's only network in Multus' annotation. */
function optionsIn({ metadata }: ApiPod): Readonly<Record<string, unknown>> {
  return JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/networks'] ?? '[{}]')[0];
}
