import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { type PodInit, podOf } from '../../support/injection/demo.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const OPTED_IN = { [KEY]: 'true' };
const CONFLICT =
  'no sidecar: conflict: spec.volumes[name=envoy-conf]: the template has another volume of this name: rename one of them';
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  await fixture.namespace('opted-in', { [KEY]: 'true' });
  await fixture.namespace('plain');
  await fixture.namespace('strict', { 'pod-security.kubernetes.io/enforce': 'restricted' });
  await serviceAccount(fixture.controlPlane, 'default');
});

afterAll(() => fixture?.stop());

const CLASH = { volumes: [{ name: 'envoy-conf', emptyDir: {} }] };

async function warnings(
  kind: 'Deployment' | 'CronJob',
  { namespace = 'plain', labels = {}, spec = {} }: PodInit,
) {
  const pod = podOf({ namespace, labels: { app: 'web', ...labels }, spec });
  const template = { metadata: pod.metadata, spec: { restartPolicy: 'Always', ...pod.spec } };
  const job = { template: { ...template, spec: { ...pod.spec, restartPolicy: 'Never' } } };
  const specs = {
    Deployment: { selector: { matchLabels: { app: 'web' } }, template },
    CronJob: { schedule: '@daily', jobTemplate: { spec: job } },
  };
  const apiVersion = { Deployment: 'apps/v1', CronJob: 'batch/v1' }[kind];
  const object = { apiVersion, kind, metadata: { name: 'web', namespace }, spec: specs[kind] };
  const create = ['create', '--dry-run=server', '-f', '-'];
  return (await fixture.controlPlane.kubectl(create, { input: JSON.stringify(object) })).stderr;
}

test.each<['Deployment' | 'CronJob', PodInit]>([
  ['Deployment', { labels: { [KEY]: 'true' }, spec: CLASH }],
  ['CronJob', { labels: { [KEY]: 'true' }, spec: CLASH }],
  ['Deployment', { namespace: 'opted-in', spec: CLASH }],
])(
  'a workload whose pods cannot have the sidecar is created with a warning: a %s with %j',
  async (kind, init) => {
    expect(await warnings(kind, init)).toMatch(
      /^Warning: pods of this workload: no sidecar: conflict: spec.volumes\[name=envoy-conf\]: .*\n$/,
    );
  },
);

test('a workload is created without a warning if its pods do not ask for the sidecar, or fit', async () => {
  expect(await warnings('Deployment', { spec: CLASH })).toBe('');
  expect(
    await warnings('Deployment', { namespace: 'opted-in', labels: { [KEY]: 'false' }, spec: CLASH }),
  ).toBe('');
  expect(await warnings('Deployment', { namespace: 'opted-in' })).toBe('');
});

const containers = [{ name: 'app', image: 'busybox' }];
const inConflict = { containers, volumes: [{ name: 'envoy-conf', emptyDir: {} }] };

function eventPod(name: string, namespace: string, annotations: object, spec: object = { containers }) {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, annotations }, spec };
}

/** What `kubectl events` has of ours about objects of that kind in a namespace, `REASON NAME: NOTE` each. */
async function eventsOf(kind: string, namespace: string): Promise<readonly string[]> {
  const { items } = JSON.parse(await fixture.kubectl('get', 'events', '-n', namespace, '-o', 'json'));
  interface Item {
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: { readonly kind: string; readonly name: string };
    readonly reportingComponent: string;
  }
  return items
    .filter(
      (item: Item) => item.reportingComponent === 'envoy-initializer' && item.involvedObject.kind === kind,
    )
    .map((item: Item) => `${item.reason} ${item.involvedObject.name}: ${item.message}`)
    .toSorted();
}

async function untilEvents(kind: string, namespace: string, wanted: readonly string[]): Promise<void> {
  await eventually(`the Events of ${kind}s are there`, async () => {
    const found = await eventsOf(kind, namespace);
    if (found.length < wanted.length) return false;
    expect(found).toEqual(wanted);
    return true;
  });
}

test('who creates a pod is warned by the words of the Event, which is of the pod', async () => {
  const { stderr } = await fixture.apply(
    eventPod('in-conflict', 'default', OPTED_IN, inConflict),
    eventPod('mistyped', 'opted-in', { [KEY]: 'yes' }),
    eventPod('overridden', 'default', { ...OPTED_IN, [`${KEY}-cpu-limit`]: 'loud' }),
    eventPod('unsafe', 'strict', OPTED_IN, {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          ...containers[0],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    }),
  );
  const mistyped = `no sidecar: invalid-value: the pod's annotation ${KEY} is "yes": write "true" or "false"`;
  const override = `sidecar added: invalid-override: annotation ${KEY}-cpu-limit is "loud": write a quantity such as 500m`;
  const unsafe = [
    'pod-security: the namespace enforces restricted pod security: container envoy must set allowPrivilegeEscalation to false',
    'pod-security: the namespace enforces restricted pod security: container envoy must drop ALL capabilities',
  ];
  expect(stderr.split('\n').slice(0, -1)).toEqual([
    `Warning: ${CONFLICT}`,
    `Warning: ${mistyped}`,
    `Warning: ${override}`,
    ...unsafe.map((line) => `Warning: no sidecar: ${line}`),
  ]);
  await untilEvents('Pod', 'default', [
    `InjectionSkipped in-conflict: ${CONFLICT}`,
    `OverrideIgnored overridden: ${override}`,
  ]);
  expect(await fixture.kubectl('describe', 'pod', 'in-conflict')).toContain(CONFLICT);
  await untilEvents('Pod', 'opted-in', [`InjectionSkipped mistyped: ${mistyped}`]);
  await untilEvents('Pod', 'strict', [`InjectionSkipped unsafe: no sidecar: ${unsafe.join('; ')}`]);
});

test('the Event, the metric and the log of a pod say the same reason', async () => {
  const metrics = await fixture.metrics();
  const log = await readFile(fixture.logFile, 'utf8');
  for (const reason of ['conflict', 'invalid-value', 'pod-security']) {
    expect(metrics).toContain(`envoy_initializer_injections_total{decision="skipped",reason="${reason}"} 1`);
    expect(log).toContain(`"decision":"skipped","reason":"${reason}"`);
  }
  expect(metrics).toContain(
    'envoy_initializer_injections_total{decision="injected",reason="invalid-override"} 1',
  );
});

testWithControllerManager('the workload of a pod has the Event of its pods, once for all', async () => {
  const template = { metadata: { labels: { app: 'web' }, annotations: OPTED_IN }, spec: inConflict };
  const meta = { name: 'web', namespace: 'default' };
  const job = {
    backoffLimit: 0,
    template: { ...template, spec: { ...inConflict, restartPolicy: 'Never' } },
  };
  await fixture.apply(
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: meta,
      spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
    },
    { apiVersion: 'batch/v1', kind: 'Job', metadata: { ...meta, name: 'once' }, spec: job },
  );
  const replicaSet = (await fixture.kubectl('get', 'replicasets', '-l', 'app=web', '-o', 'name'))
    .trim()
    .split('/')[1];
  await untilEvents('ReplicaSet', 'default', [`InjectionSkipped ${replicaSet}: ${CONFLICT}`]);
  await untilEvents('Job', 'default', [`InjectionSkipped once: ${CONFLICT}`]);
  expect(await fixture.kubectl('describe', 'replicaset', `${replicaSet}`)).toContain(CONFLICT);
});

test('a dry run of a pod leaves no Event', async () => {
  const pod = eventPod('dry', 'default', OPTED_IN, inConflict);
  const before = await eventsOf('Pod', 'default');
  const create = ['create', '--dry-run=server', '-f', '-'];
  const { stderr } = await fixture.controlPlane.kubectl(create, { input: JSON.stringify(pod) });
  expect(stderr).toBe(`Warning: ${CONFLICT}\n`);
  // What comes behind it in the queue is there.
  await fixture.apply(eventPod('wet', 'default', OPTED_IN, inConflict));
  await untilEvents('Pod', 'default', [...before, `InjectionSkipped wet: ${CONFLICT}`].toSorted());
});
