import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { isOvertaken, isRefused } from '../../../src/kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../../src/kube/api/core-resources.ts';
import type { WriteOptions } from '../../../src/kube/client/client.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(90_000);

const example = join(projectDirectory(), 'deploy/examples/example-network.yaml');
const ASKED = 'samplecrd.k8s.io/network';
const GATE = 'samplecrd.k8s.io/network';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
}, 600_000);

afterAll(() => fixture?.stop());

const kubectl = (line: string) => fixture.kubectl(...line.split(' '));

let tenths = 0;

function network(name: string): object {
  tenths += 1;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name },
    spec: { cidr: `10.${tenths}.0.0/16`, gateway: `10.${tenths}.0.1` },
  };
}

function pod(name: string, asked: string | undefined, spec: object = {}, annotations: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations: { ...(asked !== undefined && { [ASKED]: asked }), ...annotations } },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
}

interface StoredPod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly schedulingGates?: readonly { readonly name: string }[] };
}

async function stored(name: string): Promise<StoredPod> {
  return JSON.parse(await kubectl(`get pod ${name} -o json`)) as StoredPod;
}

/** Resolves when the pod has these gates, and no other. */
function untilGates(name: string, gates: readonly string[]): Promise<void> {
  return eventually(`gates of ${name} to be [${gates}]`, async () => {
    const { schedulingGates = [] } = (await stored(name)).spec;
    return schedulingGates.map((gate) => gate.name).join() === gates.join();
  });
}

/** Resolves when there is such an Event on the object, `kind/name`. */
function untilEvent(of: string, reason: string, note: string): Promise<void> {
  return eventually(`Event ${reason} of ${of}: ${note}`, async () => {
    const events = await kubectl(`events --for ${of} --no-headers`);
    return events.split('\n').some((line) => line.includes(` ${reason} `) && line.includes(note));
  });
}

async function statusOf(name: string, path: string): Promise<string> {
  return kubectl(`get network ${name} -o jsonpath={.status${path}}`);
}

function untilCounted(name: string, pods: number): Promise<void> {
  return eventually(
    `${name} to count ${pods} pods`,
    async () => (await statusOf(name, '.attachedPods')) === String(pods),
  );
}

async function refusal(object: object): Promise<string> {
  return fixture.apply(object).then(
    () => 'it was admitted',
    (error: unknown) => String(error),
  );
}

describe('the walk: a Network', () => {
  const shown = async (line: string) => (await kubectl(line)).replaceAll(/ +/g, ' ').trim();

  /** Also in the operator's log. */
  async function untilTold(reason: string, note: string): Promise<void> {
    await untilEvent('network/example-network', reason, note);
    await eventually('it is in the log', async () => {
      const log = (await readFile(fixture.logFile, 'utf8')).split('\n');
      return log.some((line) => line.includes(`"reason":"${reason}"`) && line.includes(note));
    });
  }

  test('is created, and shown', async () => {
    await kubectl(`apply -f ${example}`);
    expect(await kubectl('wait network/example-network --for=condition=Ready --timeout=20s')).toContain(
      'condition met',
    );
    expect(await shown('get network')).toMatch(
      /^NAME CIDR GATEWAY READY PODS AGE\nexample-network 192\.168\.0\.0\/16 192\.168\.0\.1 True 0 \d+s$/,
    );
    expect(await shown('get net -o wide')).toContain('192.168.0.1 True 0 Ready ');
    await untilTold('Created', 'pods can attach to 192.168.0.0/16, gateway 192.168.0.1');
  });

  test('is described, with all that is known of it', async () => {
    const described = await shown('describe network example-network');
    for (const line of [
      'Message: pods can attach to 192.168.0.0/16, gateway 192.168.0.1',
      'Reason: NoPods',
      'Total: 65533',
      'Provider: multus',
      'Normal Created',
    ]) {
      expect(described).toContain(line);
    }
    expect(await shown('explain network.spec')).toContain('-required-');
    expect(await shown('explain network.status.attachedPods')).toContain('The number of attached pods');
  });

  test('is updated, and its real network with it', async () => {
    const patch = '{"spec":{"gateway":"192.168.0.254"}}';
    await fixture.kubectl('patch', 'network', 'example-network', '--type=merge', '-p', patch);
    await kubectl(
      'wait network/example-network --for=jsonpath={.status.gateway}=192.168.0.254 --timeout=20s',
    );
    await untilTold('Updated', 'gateway 192.168.0.1 to 192.168.0.254');
  });

  test('is deleted, and its real network with it', async () => {
    await kubectl('delete network example-network --timeout=20s');
    expect(await kubectl('get network,net-attach-def -o name')).toBe('');
    await untilTold('Deleted', 'deleted the real network of this Network (192.168.0.0/16, provider multus)');
  });
});

describe('a pod that asks for a Network', () => {
  test('made in one go with it waits for it, and no longer', async () => {
    await fixture.apply(pod('together', 'together'), network('together'));
    expect((await stored('together')).metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toContain(
      'together',
    );
    await untilGates('together', []);
    await kubectl('wait network/together --for=condition=Ready --timeout=5s');
    await untilEvent('pod/together', 'NetworkReady', 'default/together');
  });

  test('waits for one that does not exist, says which, and goes on when it comes', async () => {
    await fixture.apply(pod('early', 'late'));
    await untilEvent('pod/early', 'WaitsForNetwork', 'Network default/late does not exist');
    await untilGates('early', [GATE]);
    await fixture.apply(network('late'));
    await untilGates('early', []);
  });

  test('waits for all that it names', async () => {
    await fixture.apply(network('one'), pod('of-two', 'one,two'));
    await untilEvent('pod/of-two', 'WaitsForNetwork', 'Network default/two does not exist');
    await fixture.apply(network('two'));
    await untilGates('of-two', []);
  });

  test('keeps the gates of others, whatever their place', async () => {
    const others = { schedulingGates: [{ name: 'example.org/a' }, { name: 'example.org/b' }] };
    await fixture.apply(network('third'), pod('thrice', 'third', others));
    await untilGates('thrice', ['example.org/a', 'example.org/b']);
  });

  test('goes on when it asks no more', async () => {
    await fixture.apply(pod('forgetful', 'never'));
    await untilEvent('pod/forgetful', 'WaitsForNetwork', 'default/never');
    await kubectl(`annotate pod forgetful ${ASKED}-`);
    await untilGates('forgetful', []);
  });

  test('and asks for another is told to be made anew', async () => {
    await fixture.apply(network('right'), pod('fickle', 'wrong'));
    await untilEvent('pod/fickle', 'WaitsForNetwork', 'default/wrong');
    await kubectl(`annotate --overwrite pod fickle ${ASKED}=right`);
    await untilEvent('pod/fickle', 'InvalidNetworkAnnotation', 'recreate the pod');
    await untilGates('fickle', [GATE]);
  });

  test('and names its node is admitted where its Network is Ready', async () => {
    await fixture.apply(network('present'));
    await kubectl('wait network/present --for=condition=Ready --timeout=10s');
    await fixture.apply(pod('bound', 'present', { nodeName: 'n1' }));
    expect((await stored('bound')).spec.schedulingGates).toBeUndefined();
  });

  test.each([
    [
      'names its node too early',
      pod('bad', 'absent', { nodeName: 'n1' }),
      'Network default/absent does not exist',
    ],
    ['has hostNetwork', pod('bad', 'absent', { hostNetwork: true }), 'hostNetwork'],
    ['writes it wrong', pod('bad', 'absent,'), 'has "", which is not a name'],
    [
      'asks for one of another namespace',
      pod('bad', 'kube-system/x'),
      'which pods of namespace default may not use',
    ],
  ])('is refused when it %s', async (_, object, message) => {
    const said = await refusal(object);
    expect(said).toContain('admission webhook "network.samplecrd.k8s.io" denied the request');
    expect(said).toContain(message);
  });
});

describe('a Network', () => {
  test('counts its pods, and neither those that wait nor those that have ended', async () => {
    await fixture.apply(
      network('counted'),
      pod('c1', 'counted'),
      pod('c2', 'counted'),
      pod('c3', 'counted,none'),
    );
    await untilCounted('counted', 2);
    expect(await statusOf('counted', '.conditions[?(@.type=="InUse")].message')).toBe(
      'attached: default/c1, default/c2',
    );
    const ended = (phase: string) => [
      '--subresource=status',
      '--type=merge',
      '-p',
      `{"status":{"phase":"${phase}"}}`,
    ];
    await fixture.kubectl('patch', 'pod', 'c1', ...ended('Succeeded'));
    await untilCounted('counted', 1);
    await fixture.kubectl('patch', 'pod', 'c2', ...ended('Failed'));
    await untilCounted('counted', 0);
    expect(await statusOf('counted', '.conditions[?(@.type=="InUse")].status')).toBe('False');
  });

  test('counts pods that Multus has attached without us, and their addresses', async () => {
    const bare = network('bare');
    const status = JSON.stringify([
      { name: 'cluster-default', interface: 'eth0', ips: ['10.244.0.9'], default: true },
      { name: 'default/bare', interface: 'net1', ips: [`10.${tenths}.0.2`, 'fd00::2'] },
    ]);
    const multus = { 'k8s.v1.cni.cncf.io/network-status': status };
    await fixture.apply(bare, pod('without-us', undefined, {}, multus));
    await untilCounted('bare', 1);
    await eventually('an address', async () => (await statusOf('bare', '.capacity.allocated')) === '1');
  });

  test.each(['background', 'foreground'])(
    'deleted (%s) while in use waits for its pods, says which, and goes with the last one',
    async (cascade) => {
      const [name, first, last] = [`held-${cascade}`, `first-${cascade}`, `last-${cascade}`];
      await fixture.apply(network(name), pod(first, name), pod(last, name));
      await untilGates(first, []);
      await untilGates(last, []);
      await kubectl(`delete network ${name} --wait=false --cascade=${cascade}`);
      const waits = `waits for the pods that use it: default/${first}, default/${last}`;
      await untilEvent(`network/${name}`, 'Deleting', waits);
      expect(await statusOf(name, '.conditions[?(@.type=="Progressing")].message')).toBe(waits);
      await fixture.apply(pod(`more-${cascade}`, name));
      await untilEvent(`pod/more-${cascade}`, 'WaitsForNetwork', `Network default/${name} is being deleted`);
      await kubectl(`delete pod ${first} --now`);
      await kubectl(`get net-attach-def ${name}`);
      await kubectl(`delete pod ${last} --now`);
      await kubectl(`wait network/${name} --for=delete --timeout=20s`);
      await untilEvent(`pod/more-${cascade}`, 'WaitsForNetwork', `Network default/${name} does not exist`);
      await kubectl(`wait net-attach-def/${name} --for=delete --timeout=40s`);
    },
  );

  test('changes when the last pod is gone', async () => {
    await fixture.apply(network('edited'), pod('user', 'edited'));
    await untilGates('user', []);
    await fixture.kubectl(
      'patch',
      'network',
      'edited',
      '--type=merge',
      '-p',
      '{"spec":{"cidr":"10.200.0.0/16","gateway":"10.200.0.1"}}',
    );
    await kubectl(
      'wait network/edited --for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=ChangePending --timeout=10s',
    );
    expect(await statusOf('edited', '.conditions[?(@.type=="Progressing")].message')).toContain(
      'default/user',
    );
    await kubectl('delete pod user --now');
    await kubectl('wait network/edited --for=jsonpath={.status.cidr}=10.200.0.0/16 --timeout=20s');
  });

  test('is counted the same by an operator that was killed and started again', async () => {
    await fixture.apply(network('kept'), pod('k1', 'kept'), pod('k2', 'kept,nowhere'));
    await untilCounted('kept', 1);
    const before = await kubectl('get network kept -o jsonpath={.status}');
    process.kill(fixture.operator.process.pid, 'SIGKILL');
    await fixture.operator.restart();
    await fixture.apply(network('nowhere'));
    await untilGates('k2', []);
    expect(JSON.parse(before)).toMatchObject({ attachedPods: 1 });
    await untilCounted('kept', 2);
  });
});

describe('while an admission policy denies the writes of the operator', () => {
  const DENIAL = 'needs a label team';
  const asked = { metadata: { name: 'asked', namespace: 'strict' } };
  let api: ApiAccess;

  beforeAll(async () => {
    api = connect(fixture.controlPlane.kubeconfigPath);
    await kubectl('create namespace strict');
    await serviceAccount(fixture.controlPlane, 'strict');
    const inStrict = (name: string) => ({ ...network(name), metadata: { name, namespace: 'strict' } });
    await fixture.apply(inStrict('held'), inStrict('wanted'));
    await kubectl('wait network --all -n strict --for=condition=Ready --timeout=20s');
    await fixture.apply(...denying('strict', DENIAL));
    await eventually('the policy to deny', async () => isRefused(await outcome({ dryRun: true })));
  });
  afterAll(() => api?.close());

  const outcome = (options: WriteOptions) =>
    api.client.create(CONFIG_MAPS, asked, options).catch((error: unknown) => error);

  test('the API server answers otherwise than to a JSON patch that comes too late', async () => {
    const late = [{ op: 'test', path: '/metadata/uid', value: 'other' }] as const;
    const ref = { namespace: OPERATOR_NAMESPACE, name: 'envoy' };
    const error: unknown = await api.client.jsonPatch(CONFIG_MAPS, ref, late).catch((err: unknown) => err);
    expect([error, isOvertaken(error), isRefused(error)]).toEqual([expect.anything(), true, false]);
    expect(await outcome({})).toMatchObject({ status: 422, kind: 'configmaps' });
  });

  test('each object that waits says so, the writes are counted, and made when the policy has gone', async () => {
    const { metadata, ...rest } = pod('p', 'held', {}, { [OPT_IN]: 'true' }) as { metadata: object };
    await fixture.apply({ ...rest, metadata: { ...metadata, namespace: 'strict' } });
    await kubectl('delete network wanted -n strict --wait=false');
    for (const of of ['pod/p', 'configmap/envoy', 'network/wanted'])
      await untilEvent(`${of} -n strict`, 'RequestRefused', DENIAL);
    const metrics = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
    for (const of of ['pods', 'configmaps', 'networks'])
      expect(metrics).toContain(`envoy_initializer_writes_refused_total{resource="${of}",code="422"}`);
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
  const rule = (group: string, operations: readonly string[], ...resources: readonly string[]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations,
    resources,
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
