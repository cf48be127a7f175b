import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { isOvertaken, isRefused } from '../../../src/kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../../src/kube/api/core-resources.ts';
import type { WriteOptions } from '../../../src/kube/client/client.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { ASKED, NetworkWorld, networkOf, podOn, refusal } from '../../support/network/network-world.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';

jest.setTimeout(90_000);

const GATE = ASKED;
let world: NetworkWorld;
const kubectl: NetworkWorld['run'] = (...args) => world.run(...args);
const network = (name: string) => networkOf(name, `10.${world.nextRange()}.0.0/16`);
const pod = (name: string, asked: string, spec: object = {}) => podOn(name, { asked, spec });

beforeAll(async () => {
  world = await NetworkWorld.start();
}, 600_000);

afterAll(() => world?.stop());

function untilCounted(name: string, pods: number): Promise<void> {
  return eventually(
    `${name} to count ${pods} pods`,
    async () => (await world.status(name, 'attachedPods')) === String(pods),
  );
}

test('a pod that is applied with its Network waits for it, and no longer', async () => {
  await world.apply(pod('together', 'together'), network('together'));
  expect((await world.pod('together')).metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toContain(
    'together',
  );
  await world.untilGates('together');
  await kubectl('wait network/together --for=condition=Ready --timeout=5s');
  await world.untilEvent('pod/together', 'NetworkReady', 'default/together');
});

test('a pod waits for a Network that does not exist, says which, and goes on when it comes', async () => {
  await world.apply(pod('early', 'late'));
  await world.untilEvent('pod/early', 'WaitsForNetwork', 'Network default/late does not exist');
  await world.untilGates('early', GATE);
  await world.apply(network('late'));
  await world.untilGates('early');
});

test('a pod waits for all Networks that it names', async () => {
  await world.apply(network('one'), pod('of-two', 'one,two'));
  await world.untilEvent('pod/of-two', 'WaitsForNetwork', 'Network default/two does not exist');
  await world.apply(network('two'));
  await world.untilGates('of-two');
});

test('a pod that asks for a Network keeps the gates of others, whatever their place', async () => {
  const others = { schedulingGates: [{ name: 'example.org/a' }, { name: 'example.org/b' }] };
  await world.apply(network('third'), pod('thrice', 'third', others));
  await world.untilGates('thrice', 'example.org/a', 'example.org/b');
});

test('a pod goes on when it asks for its Network no more', async () => {
  await world.apply(pod('forgetful', 'never'));
  await world.untilEvent('pod/forgetful', 'WaitsForNetwork', 'default/never');
  await kubectl(`annotate pod forgetful ${ASKED}-`);
  await world.untilGates('forgetful');
});

test('a pod that asks for another Network than before gets the advice to be recreated', async () => {
  await world.apply(network('right'), pod('fickle', 'wrong'));
  await world.untilEvent('pod/fickle', 'WaitsForNetwork', 'default/wrong');
  await kubectl(`annotate --overwrite pod fickle ${ASKED}=right`);
  await world.untilEvent('pod/fickle', 'InvalidNetworkAnnotation', 'recreate the pod');
  await world.untilGates('fickle', GATE);
});

test('a pod that asks for a Network and names its node is admitted where its Network is Ready', async () => {
  await world.apply(network('present'));
  await kubectl('wait network/present --for=condition=Ready --timeout=10s');
  await world.apply(pod('bound', 'present', { nodeName: 'n1' }));
  expect((await world.pod('bound')).spec.schedulingGates).toBeUndefined();
});

test.each([
  [
    'names its node too early',
    pod('bad', 'absent', { nodeName: 'n1' }),
    'Network default/absent does not exist',
  ],
  [
    'asks for one of another namespace',
    pod('bad', 'kube-system/x'),
    'which pods in namespace default are not allowed to use',
  ],
])('a pod that asks for a Network is refused when it %s', async (_, object, message) => {
  const said = await refusal(world.apply(object));
  expect(said).toContain('admission webhook "network.samplecrd.k8s.io" denied the request');
  expect(said).toContain(message);
});

test('a Network counts its pods, and neither those that wait nor those that have ended', async () => {
  await world.apply(
    network('counted'),
    pod('c1', 'counted'),
    pod('c2', 'counted'),
    pod('c3', 'counted,none'),
  );
  await untilCounted('counted', 2);
  expect(await world.condition('counted', 'InUse', 'message')).toBe('attached: default/c1, default/c2');
  const end = (name: string, phase: string) =>
    world.merge(`pod ${name}`, { status: { phase } }, '--subresource=status');
  await end('c1', 'Succeeded');
  await untilCounted('counted', 1);
  await end('c2', 'Failed');
  await untilCounted('counted', 0);
  expect(await world.condition('counted', 'InUse', 'status')).toBe('False');
});

test('a Network counts pods that only Multus has attached, and their addresses', async () => {
  const n = await world.ready('bare');
  const status = JSON.stringify([
    { name: 'cluster-default', interface: 'eth0', ips: ['10.244.0.9'], default: true },
    { name: 'default/bare', interface: 'net1', ips: [`10.${n}.0.2`, 'fd00::2'] },
  ]);
  const annotations = { 'k8s.v1.cni.cncf.io/network-status': status };
  await world.apply(podOn('without-us', { metadata: { annotations } }));
  await untilCounted('bare', 1);
  await eventually('an address', async () => (await world.status('bare', 'capacity.allocated')) === '1');
});

test.each(['background', 'foreground'])(
  'a Network deleted (%s) while in use waits for its pods, says which, and goes with the last one',
  async (cascade) => {
    const [name, first, last] = [`held-${cascade}`, `first-${cascade}`, `last-${cascade}`];
    await world.apply(network(name), pod(first, name), pod(last, name));
    await world.untilGates(first);
    await world.untilGates(last);
    await kubectl(`delete network ${name} --wait=false --cascade=${cascade}`);
    const waits = `waiting for pods that use it: default/${first}, default/${last}`;
    await world.untilEvent(`network/${name}`, 'Deleting', waits);
    expect(await world.condition(name, 'Progressing', 'message')).toBe(waits);
    await world.apply(pod(`more-${cascade}`, name));
    await world.untilEvent(
      `pod/more-${cascade}`,
      'WaitsForNetwork',
      `Network default/${name} is being deleted`,
    );
    await kubectl(`delete pod ${first} --now`);
    await eventually(
      'it waits for the last pod alone',
      async () =>
        (await world.condition(name, 'Progressing', 'message')) ===
        `waiting for pods that use it: default/${last}`,
    );
    await kubectl(`get net-attach-def ${name}`);
    await kubectl(`delete pod ${last} --now`);
    await kubectl(`wait network/${name} --for=delete --timeout=20s`);
    await world.untilEvent(
      `pod/more-${cascade}`,
      'WaitsForNetwork',
      `Network default/${name} does not exist`,
    );
    await kubectl(`wait net-attach-def/${name} --for=delete --timeout=40s`);
  },
);

test('a Network in use changes when its last pod is gone', async () => {
  await world.apply(network('edited'), pod('user', 'edited'));
  await world.untilGates('user');
  await world.merge('network edited', { spec: { cidr: '10.200.0.0/16', gateway: '10.200.0.1' } });
  await world.untilReason('edited', 'Ready', 'ChangePending');
  expect(await world.condition('edited', 'Progressing', 'message')).toContain('default/user');
  await kubectl('delete pod user --now');
  await kubectl('wait network/edited --for=jsonpath={.status.cidr}=10.200.0.0/16 --timeout=20s');
});

test('the pods of a Network are counted the same by an operator that was killed and started again', async () => {
  await world.apply(network('kept'), pod('k1', 'kept'), pod('k2', 'kept,nowhere'));
  await untilCounted('kept', 1);
  const before = await kubectl('get network kept -o jsonpath={.status}');
  await world.restart();
  await world.apply(network('nowhere'));
  await world.untilGates('k2');
  expect(JSON.parse(before)).toMatchObject({ attachedPods: 1 });
  await untilCounted('kept', 2);
});

describe("while a policy denies the operator's writes", () => {
  const DENIAL = 'needs a label team';
  const asked = { metadata: { name: 'asked', namespace: 'strict' } };
  let api: ApiAccess;

  beforeAll(async () => {
    api = connect(world.fixture.controlPlane.kubeconfigPath);
    await kubectl('create namespace strict');
    await serviceAccount(world.fixture.controlPlane, 'strict');
    const inStrict = (name: string) =>
      networkOf(name, `10.${world.nextRange()}.0.0/16`, {}, { namespace: 'strict' });
    await world.apply(inStrict('held'), inStrict('wanted'));
    await kubectl('wait network --all -n strict --for=condition=Ready --timeout=20s');
    await world.apply(...denying('strict', DENIAL));
    await eventually('the policy to deny', async () => isRefused(await outcome({ dryRun: true })));
  });
  afterAll(() => api?.close());

  const outcome = (options: WriteOptions) =>
    api.client.create(CONFIG_MAPS, asked, options).catch((error: unknown) => error);

  test('the API server answers a denied write otherwise than a JSON patch that comes too late', async () => {
    const late = [{ op: 'test', path: '/metadata/uid', value: 'other' }] as const;
    const ref = { namespace: OPERATOR_NAMESPACE, name: 'envoy' };
    const error: unknown = await api.client.jsonPatch(CONFIG_MAPS, ref, late).catch((err: unknown) => err);
    expect([error, isOvertaken(error), isRefused(error)]).toEqual([expect.anything(), true, false]);
    expect(await outcome({})).toMatchObject({ status: 422, kind: 'configmaps' });
  });

  test('an object whose write a policy denies says so, and is written when the policy has gone', async () => {
    const annotations = { [ASKED]: 'held', [OPT_IN]: 'true' };
    await world.apply(podOn('p', { metadata: { namespace: 'strict', annotations } }));
    await kubectl('delete network wanted -n strict --wait=false');
    for (const refused of ['pod/p', 'configmap/envoy', 'network/wanted'])
      await world.untilEvent(refused, 'RequestRefused', DENIAL, 'strict');
    const metrics = await world.metrics();
    for (const refused of ['pods', 'configmaps', 'networks'])
      expect(metrics).toContain(`envoy_initializer_writes_refused_total{resource="${refused}",code="422"}`);
    await kubectl('delete validatingadmissionpolicybinding,validatingadmissionpolicy strict');
    await kubectl('wait -n strict configmap/envoy --for=create --timeout=30s');
    await kubectl('wait -n strict network/wanted --for=delete --timeout=30s');
    await eventually(
      'the gate to go',
      async () => !(await kubectl('get pod p -n strict -o yaml')).includes('schedulingGates'),
    );
  });
});

/** Denies what the operator writes to pods, ConfigMaps and Networks of a namespace. */
function denying(name: string, message: string): readonly object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = (group: string, operations: readonly string[], resource: string) => ({
    ...{ apiGroups: [group], apiVersions: ['*'], operations, resources: [resource] },
  });
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [
            rule('', ['UPDATE'], 'pods'),
            rule('', ['CREATE', 'UPDATE'], 'configmaps'),
            rule('samplecrd.k8s.io', ['UPDATE'], 'networks'),
          ],
        },
        matchConditions: [{ name, expression: `object.metadata.namespace == '${name}'` }],
        validations: [
          { expression: "has(object.metadata.labels) && 'team' in object.metadata.labels", message },
        ],
      },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}
