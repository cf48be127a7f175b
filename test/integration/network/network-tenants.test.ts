import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { FIRST_VNI } from '../../../src/networks/multus/cni-config.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must } from '../../env/operator.ts';
import { forgedConfig } from '../../support/network/forged-config.ts';
import { AGENTS, NetworkWorld, networkOf, podOn } from '../../support/network/network-world.ts';

jest.setTimeout(90_000);

/** Before that of the victim in any order by name. */
const TENANT = 'aaa';
const VICTIM = 'victim';

let world: NetworkWorld;
const run: NetworkWorld['run'] = (...args) => world.run(...args);
const inVictim = (line: string) => run(`${line} -n ${VICTIM}`);

/** As a user who may write NetworkAttachmentDefinitions in the namespace, and pods, and nothing else. */
async function asTenant(namespace: string, ...objects: readonly object[]): Promise<void> {
  const user = `--as=system:serviceaccount:${namespace}:tenant`;
  const input = listed(objects);
  await must(
    world.fixture.controlPlane,
    ['apply', user, '--server-side', '--force-conflicts', '-f', '-'],
    input,
  );
}

function definition(namespace: string, name: string, config: string, metadata: object = {}): object {
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace, ...metadata },
    spec: { config },
  };
}

beforeAll(async () => {
  world = await NetworkWorld.start({
    args: [`--node-agent-namespace=${AGENTS}`],
    manifests: ['namespace', 'rbac'].map((file) => `deploy/overlays/node-agent/${file}.yaml`),
  });
  for (const namespace of [TENANT, VICTIM]) {
    await run(`create namespace ${namespace}`);
    await inNamespace(
      namespace,
      'create role tenant --verb=get,list,create,update,patch,delete --resource=pods,network-attachment-definitions.k8s.cni.cncf.io',
    );
    await inNamespace(
      namespace,
      `create rolebinding tenant --role=tenant --serviceaccount=${namespace}:tenant`,
    );
    await inNamespace(namespace, 'wait serviceaccount/default --for=create --timeout=30s');
  }
  await world.apply(networkOf('blue', '10.20.0.0/24', {}, { namespace: VICTIM }));
  await inVictim('wait network/blue --for=condition=Ready --timeout=30s');
}, 600_000);

afterAll(() => world?.stop());

const inNamespace = (namespace: string, line: string) => run(`${line} -n ${namespace}`);
const configOf = (name: string) => inVictim(`get net-attach-def ${name} -o jsonpath={.spec.config}`);
const pluginOf = async (name: string) => JSON.parse(await configOf(name)).plugins[0];
const statusOf = (field: string) => inVictim(`get network blue -o jsonpath={.status.${field}}`);

/** Waits until the operator has seen all that was written to definitions before, and put the victim's right. */
async function untilRepaired(): Promise<void> {
  await inVictim('label net-attach-def blue app.kubernetes.io/managed-by=me --overwrite');
  await eventually('the definition is as it was', async () => {
    const label = await inVictim(
      'get net-attach-def blue -o jsonpath={.metadata.labels.app\\.kubernetes\\.io/managed-by}',
    );
    return label === 'envoy-initializer';
  });
}

test('a tenant who may write definitions can write no Network, and no status of one', async () => {
  const user = `--as=system:serviceaccount:${VICTIM}:tenant`;
  const can = async (what: string) =>
    (
      await world.fixture.controlPlane.kubectl(`auth can-i ${what} ${user} -n ${VICTIM}`.split(' '))
    ).stdout.trim();
  expect(
    await Promise.all(
      ['create networks', 'patch networks --subresource=status', 'create net-attach-def'].map(can),
    ),
  ).toEqual(['no', 'no', 'yes']);
});

test('the VNI of a Network is in its status, and not in its definition', async () => {
  expect(Number(await statusOf('vni'))).toBeGreaterThanOrEqual(FIRST_VNI);
  expect(await pluginOf('blue')).not.toHaveProperty('vni');
});

test('a definition with the VNI of another Network changes that Network in no way', async () => {
  const vni = Number(await statusOf('vni'));
  const before = await configOf('blue');
  const subnet = { cidr: '10.21.0.0/24', gateway: '10.21.0.1', mtu: 1450 };
  const annotations = { 'samplecrd.k8s.io/network-shape': JSON.stringify({ ...subnet, vni }) };
  await asTenant(TENANT, definition(TENANT, 'a', forgedConfig(`${TENANT}/a`, subnet, vni), { annotations }));
  await untilRepaired();
  expect([await configOf('blue'), await statusOf('vni')]).toEqual([before, `${vni}`]);
});

test('a definition with the VNI that a Network would get does not take it away', async () => {
  const green = networkOf('green', '10.22.0.0/24', {}, { namespace: VICTIM });
  await world.apply(green);
  await inVictim('wait network/green --for=condition=Ready --timeout=30s');
  const vniOfGreen = () => inVictim('get network green -o jsonpath={.status.vni}');
  const before = await vniOfGreen();
  const vni = Number(before);
  await inVictim('delete network green');
  const subnet = { cidr: '10.23.0.0/24', gateway: '10.23.0.1', mtu: 1450 };
  await asTenant(TENANT, definition(TENANT, 'b', forgedConfig(`${TENANT}/b`, subnet, vni)));
  await untilRepaired();
  await world.apply(green);
  await inVictim('wait network/green --for=condition=Ready --timeout=30s');
  expect(await vniOfGreen()).toBe(before);
});

test.each([
  ['blanked', ''],
  ['unreadable', '{'],
  [
    'of another VNI',
    forgedConfig(`${VICTIM}/blue`, { cidr: '10.20.0.0/24', gateway: '10.20.0.1', mtu: 1450 }, FIRST_VNI + 7),
  ],
  [
    'of the range of the nodes',
    forgedConfig(`${VICTIM}/blue`, { cidr: '192.0.2.0/24', gateway: '192.0.2.1', mtu: 1450 }, FIRST_VNI),
  ],
])('a definition that is %s is put right, and the status stays', async (_, config) => {
  const [before, status] = [await configOf('blue'), await statusOf('cidr')];
  const annotations = {
    'samplecrd.k8s.io/network-shape': '{"cidr":"192.0.2.0/24","gateway":"192.0.2.1","vni":8388615}',
  };
  await asTenant(VICTIM, definition(VICTIM, 'blue', config, { annotations }));
  await eventually('it is as before', async () => (await configOf('blue')) === before);
  expect([await statusOf('cidr'), await statusOf('gateway')]).toEqual([status, '10.20.0.1']);
});

test('a definition whose owner is taken away is the Network’s again', async () => {
  const owner = () => inVictim('get net-attach-def blue -o jsonpath={.metadata.ownerReferences[*].uid}');
  const uid = await owner();
  const user = `--as=system:serviceaccount:${VICTIM}:tenant`;
  await inVictim(`patch net-attach-def blue --type=merge -p {"metadata":{"ownerReferences":null}} ${user}`);
  await eventually('it has its owner again', async () => (await owner()) === uid);
});

test('a pod of another namespace that says it is on a Network blocks no deletion', async () => {
  const status = JSON.stringify([{ name: `${VICTIM}/blue`, interface: 'net1', ips: ['10.20.0.9'] }]);
  const annotations = { 'k8s.v1.cni.cncf.io/network-status': status };
  await asTenant(TENANT, podOn('liar', { metadata: { namespace: TENANT, annotations } }));
  // The annotation of a pod that was created without it is seen by no webhook.
  await run(
    `annotate pod liar -n ${TENANT} samplecrd.k8s.io/network=${VICTIM}/blue --as=system:serviceaccount:${TENANT}:tenant`,
  );
  await inVictim('delete network blue --timeout=30s');
  expect(await inVictim('get network blue --ignore-not-found')).toBe('');
});
