import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const OPTED_IN = { [KEY]: 'true' };
const CONFLICT =
  'no sidecar: conflict: spec.volumes[name=envoy-conf]: the template has another volume of this name: rename one of them';

let starting: Promise<OperatorFixture>;
let fixture: OperatorFixture;

beforeAll(async () => {
  starting = startOperatorFixture();
  fixture = await starting;
  const strict = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await fixture.apply(namespaceOf('asks', OPTED_IN), namespaceOf('strict', strict));
  if (!fixture.controlPlane.hasControllerManager) return;
  for (const namespace of ['default', 'asks', 'strict']) {
    const wait = ['wait', '--for=create', 'serviceaccount/default', '-n', namespace, '--timeout=30s'];
    await fixture.kubectl(...wait);
  }
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

function namespaceOf(name: string, labels: object) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

const containers = [{ name: 'app', image: 'busybox' }];
const inConflict = { containers, volumes: [{ name: 'envoy-conf', emptyDir: {} }] };

function podOf(name: string, namespace: string, annotations: object, spec: object = { containers }) {
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

test('whoever makes a pod is warned by the words of the Event, which is of the pod', async () => {
  const { stderr } = await fixture.apply(
    podOf('in-conflict', 'default', OPTED_IN, inConflict),
    podOf('mistyped', 'asks', { [KEY]: 'yes' }),
    podOf('overridden', 'default', { ...OPTED_IN, [`${KEY}-log-level`]: 'loud' }),
    podOf('unsafe', 'strict', OPTED_IN, {
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
  const override = `sidecar added: invalid-override: annotation ${KEY}-log-level is "loud": write one of trace, debug, info, warning, error, critical, off`;
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
  await untilEvents('Pod', 'asks', [`InjectionSkipped mistyped: ${mistyped}`]);
  await untilEvents('Pod', 'strict', [`InjectionSkipped unsafe: no sidecar: ${unsafe.join('; ')}`]);
});

test('the metric and the log say the same reason', async () => {
  const metrics = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
  for (const reason of ['conflict', 'invalid-value', 'pod-security']) {
    expect(metrics).toContain(`envoy_initializer_injections_total{decision="skipped",reason="${reason}"} 1`);
  }
  expect(metrics).toContain(
    'envoy_initializer_injections_total{decision="injected",reason="invalid-override"} 1',
  );
});

testWithControllerManager('the workload of a pod has the Event, once for all its pods', async () => {
  const template = { metadata: { labels: { app: 'web' }, annotations: OPTED_IN }, spec: inConflict };
  const meta = { name: 'web', namespace: 'default' };
  const job = { backoffLimit: 0, template: { ...template, spec: { ...inConflict, restartPolicy: 'Never' } } };
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

test('a dry run leaves none', async () => {
  const pod = podOf('dry', 'default', OPTED_IN, inConflict);
  const before = await eventsOf('Pod', 'default');
  const create = ['create', '--dry-run=server', '-f', '-'];
  const { stderr } = await fixture.controlPlane.kubectl(create, { input: JSON.stringify(pod) });
  expect(stderr).toBe(`Warning: ${CONFLICT}\n`);
  // What comes behind it in the queue is there.
  await fixture.apply(podOf('wet', 'default', OPTED_IN, inConflict));
  await untilEvents('Pod', 'default', [...before, `InjectionSkipped wet: ${CONFLICT}`].toSorted());
});
