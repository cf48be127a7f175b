import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { since } from '../../support/jest/since.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const TEMPLATE = 'envoy-initializer';
let fixture: OperatorFixture;
let pods = 0;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  await fixture.namespace('opted-in', { [KEY]: 'true' });
  await serviceAccount(fixture.controlPlane, 'default');
});

afterAll(() => fixture?.stop());

type Data = Readonly<Record<string, string>>;

const GOOD = `\
containers:
- name: envoy
  image: example.com/envoy:v1
  resources:
    requests: {cpu: 10m, memory: 16Mi}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
`;
const BAD = GOOD.replace('image', 'imag');
const WRONG = 'line 3, column 3: containers[0].imag: unknown field "imag": did you mean image?';
/** The same as the operator says it, after the key of the ConfigMap and a colon. */
const NAMED = WRONG.replace(/^line (\d+), column (\d+)/, '$1:$2');

function configMap(data: Data, name = TEMPLATE, namespace = TEMPLATE) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

async function apply(object: object, ...args: readonly string[]) {
  const input = JSON.stringify(object);
  return await fixture.controlPlane.kubectl(['apply', ...args, '-f', '-'], { input });
}

/** Applies what must be accepted; what kubectl was warned of. */
async function accepted(object: object, ...args: readonly string[]): Promise<string> {
  const { code, stderr } = await apply(object, ...args);
  if (code !== 0) throw new Error(stderr);
  return stderr;
}

/** A pod that opts in itself, but in a namespace that does so. */
function newPod(namespace = 'default') {
  pods += 1;
  const annotations = namespace === 'default' ? { [KEY]: 'true' } : {};
  const spec = { containers: [{ name: 'app', image: 'busybox' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${pods}`, namespace, annotations }, spec };
}

/** The images of a pod's containers, once it is admitted. */
async function imagesOf(pod: ReturnType<typeof newPod>): Promise<string> {
  const { name, namespace } = pod.metadata;
  return await fixture.kubectl('get', 'pod', name, '-n', namespace, '-o', 'jsonpath={..image}');
}

async function stored(): Promise<Data> {
  return JSON.parse(
    await fixture.kubectl('get', 'configmap', TEMPLATE, '-n', TEMPLATE, '-o', 'jsonpath={.data}'),
  );
}

/** The value of a metric without labels, or with these. */
async function metric(name: string): Promise<string | undefined> {
  const text = await fixture.metrics();
  return text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);
}

async function adopted(data: Data): Promise<void> {
  const before = await metric('envoy_initializer_template_generation');
  await accepted(configMap(data));
  await eventually(
    'the template is adopted',
    async () => (await metric('envoy_initializer_template_generation')) !== before,
  );
}

/** `kubectl apply` of a ConfigMap beside the template's, as a user does it. */
async function applyData(name: string, data: Data, labels: object = {}) {
  const metadata = { name, namespace: 'default', labels };
  const { code, stderr } = await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  return { code, stderr };
}

const OLD = JSON.stringify({
  static_resources: { clusters: [{ name: 'app', hosts: [{ socket_address: { address: 'app' } }] }] },
});

test('kubectl apply of a configuration by which Envoy would not start warns of where and what, and works', async () => {
  expect(await applyData('envoy', { 'envoy.json': OLD })).toEqual({
    code: 0,
    stderr:
      'Warning: Envoy may reject this configuration: envoy.json:1:49: static_resources.clusters[0].hosts: belongs to the v2 API, which Envoy removed in 1.18: write load_assignment\n',
  });
  expect(await applyData('envoy', { 'envoy.json': '{"static_resources": {}}' })).toEqual({
    code: 0,
    stderr: '',
  });
});

test('kubectl apply of weights by which no request is answered is refused, and those before stay', async () => {
  const labels = { 'initializer.kubernetes.io/envoy-weights': 'true' };
  const weights = (v1: string, v2: string) =>
    applyData('app-weights', { 'canary.app_v1': v1, 'canary.app_v2': v2 }, labels);
  expect(await weights('90', '10')).toEqual({ code: 0, stderr: '' });
  expect(await weights('0', '0')).toEqual({
    code: 1,
    stderr:
      'The ConfigMap "app-weights" is invalid: data.canary.app_v1: all weights of canary are 0, so every request gets 404: give at least one a higher weight\n',
  });
  const stored = await fixture.kubectl('get', 'configmap', 'app-weights', '-o', 'jsonpath={.data}');
  expect(JSON.parse(stored)).toEqual({ 'canary.app_v1': '90', 'canary.app_v2': '10' });
});

describe('a faulty template', () => {
  beforeAll(() => adopted({ config: GOOD }));

  test('kubectl apply of a faulty template is refused, says where and what, and the previous one stays', async () => {
    const before = await stored();
    const { code, stderr } = await apply(configMap({ config: BAD }));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `The ConfigMap "envoy-initializer" is invalid: data.config: ${WRONG}\n`,
    });
    expect(await stored()).toEqual(before);
    const pod = newPod();
    await accepted(pod);
    expect(await imagesOf(pod)).toBe('busybox example.com/envoy:v1');
  });

  test('kubectl apply of a faulty template says all faults at once, a line each', async () => {
    const { stderr } = await apply(configMap({ config: BAD, 'config.b': 'x: 1', options: 'y: 1' }));
    expect(stderr.split('\n').slice(1, -1)).toEqual([
      `* data.config: ${WRONG}`,
      expect.stringMatching(/^\* data\.config\.b: line 1, column 1: x: unknown field "x": expected one of /),
      expect.stringMatching(/^\* data\.options: line 1, column 1: y: unknown field "y": expected one of /),
    ]);
  });
});

test('kubectl apply of a doubtful template warns of what is doubtful, and works', async () => {
  const warnings = await accepted(
    configMap({ config: GOOD, optoins: 'onConflict: deny' }),
    '--dry-run=server',
  );
  expect(warnings.split('\n').slice(0, -1)).toEqual(['Warning: optoins: unknown key: did you mean options?']);
});

test('kubectl apply of a template elsewhere does not call the webhook', async () => {
  const asked = 'controller_runtime_webhook_requests_total{webhook="/validate",code="200"}';
  const before = await metric(asked);
  expect(before).toBeDefined();
  await accepted(configMap({ config: BAD }, 'other', TEMPLATE));
  await accepted(configMap({ config: BAD }, TEMPLATE, 'default'));
  expect(await metric(asked)).toBe(before);
});

/** Good by all that lint knows, but the API server refuses each pod with it. */
const UNFIT = `${GOOD}  resizePolicy:\n  - {resourceName: cpu, restartPolicy: NotRequired}\n  env:\n  - name: CPU\n    valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 7}}\n`;
const REFUSED =
  'the API server refuses a pod with this template: spec.containers[name=envoy].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource';
/** Good in most pods, but not in those that must not restart. */
const RESTARTING = `${GOOD}  resizePolicy:\n  - {resourceName: cpu, restartPolicy: RestartContainer}\n`;
const MISFIT =
  'the API server refuses template config in pods with spec.restartPolicy: Never: spec.initContainers[name=envoy].resizePolicy: ';

describe('a template that only the API server refuses', () => {
  beforeAll(() => adopted({ config: GOOD.replace(':v1', ':v2') }));

  test('a template that only the API server knows to be bad is refused by kubectl apply, in its words', async () => {
    const { code, stderr } = await apply(configMap({ config: UNFIT }));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `The ConfigMap "envoy-initializer" is invalid: data.config: ${REFUSED}\n`,
    });
  });

  test('a template that only the API server knows to be bad is not adopted, and the last good one stays', async () => {
    const before = await metric('envoy_initializer_template_generation');
    await fixture.kubectl('delete', 'validatingwebhookconfiguration', TEMPLATE);
    await accepted(configMap({ config: UNFIT }));
    const events = ['get', 'events', '-n', TEMPLATE, '--field-selector=reason=InvalidTemplate'];
    const note = `Invalid, so the last valid template stays: config: ${REFUSED}`;
    await eventually('the Event is there', async () => (await fixture.kubectl(...events)).includes(note));
    expect(await metric('envoy_initializer_template_current')).toBe('0');
    expect(await metric('envoy_initializer_template_generation')).toBe(before);
    const pod = newPod();
    await accepted(pod);
    expect(await imagesOf(pod)).toBe('busybox example.com/envoy:v2');
  });

  // Older API servers drop `resizePolicy`.
  since(33).test(
    'pods of a shape that a template does not fit, and no others, have a conflict (since 1.33)',
    async () => {
      await adopted({ config: RESTARTING });
      const once = newPod();
      const warning = await accepted({ ...once, spec: { ...once.spec, restartPolicy: 'Never' } });
      expect(warning).toContain(`Warning: no sidecar: conflict: ${MISFIT}`);
      expect(await imagesOf(once)).toBe('busybox');
      const pod = newPod();
      await accepted(pod);
      expect(await imagesOf(pod)).toBe('busybox example.com/envoy:v1');
    },
  );
});

describe('a bad template', () => {
  beforeAll(async () => {
    fixture.operator.process.kill('SIGTERM');
    await fixture.operator.process.exited;
    await accepted(configMap({ config: BAD }));
    await fixture.operator.restart();
  });

  test('pods that ask for the sidecar themselves are refused while the template is bad, with what is wrong', async () => {
    const { code, stderr } = await apply(newPod());
    expect(code).toBe(1);
    expect(stderr).toContain('failed calling webhook "envoy.initializer.kubernetes.io"');
    expect(stderr).toContain(
      `no-template: the operator has no valid template: config:${NAMED}`.replaceAll('"', '\\"'),
    );
    const counted = 'envoy_initializer_injections_total{decision="failed",reason="no-template"}';
    expect(Number(await metric(counted))).toBeGreaterThan(0);
  });

  test('pods of a namespace that asks for the sidecar are admitted without it while the template is bad', async () => {
    const pod = newPod('opted-in');
    expect(await accepted(pod)).toBe(
      `Warning: no sidecar: no-template: the operator has no valid template: config:${NAMED}\n`,
    );
    expect(await imagesOf(pod)).toBe('busybox');
  });

  test('a bad template is reported by an Event of the ConfigMap and a metric, and stops nothing else', async () => {
    const events = ['get', 'events', '-n', TEMPLATE, '--field-selector=reason=InvalidTemplate'];
    const note = `There is no valid template, so pods with their own opt-in are refused: config:${NAMED}`;
    await eventually('the Event is there', async () => (await fixture.kubectl(...events)).includes(note));
    expect(await metric('envoy_initializer_template_current')).toBe('0');
    expect((await fetch(`${fixture.operator.metricsUrl}/readyz`)).status).toBe(200);
    await fixture.apply({
      apiVersion: 'samplecrd.k8s.io/v1',
      kind: 'Network',
      metadata: { name: 'meanwhile', namespace: 'default' },
      spec: { cidr: '10.9.0.0/24', gateway: '10.9.0.1' },
    });
    await fixture.kubectl('wait', '--for=condition=Ready', 'network/meanwhile', '--timeout=30s');
  });

  test('a bad template ends when a good one is applied, with no restart', async () => {
    await adopted({ config: GOOD });
    const pod = newPod();
    await accepted(pod);
    expect(await imagesOf(pod)).toBe('busybox example.com/envoy:v1');
    expect(await metric('envoy_initializer_template_current')).toBe('1');
  });
});
