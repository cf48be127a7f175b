import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { injectionRequests } from '../../../hack/demo/metrics.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { type PodInit, podOf } from '../../support/injection/pod-of.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

const KEY = 'initializer.kubernetes.io/envoy';

let starting: Promise<OperatorFixture>;
let fixture: OperatorFixture;

beforeAll(async () => {
  starting = startOperatorFixture();
  fixture = await starting;
  await fixture.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'opted-in', labels: { [KEY]: 'true' } } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } },
  );
  for (const namespace of ['opted-in', 'plain']) await serviceAccount(namespace);
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

/** Pods are admitted once the controller-manager has made it. */
async function serviceAccount(namespace: string): Promise<void> {
  if (!fixture.controlPlane.hasControllerManager) return;
  await fixture.kubectl(
    'wait',
    '--for=create',
    'serviceaccount/default',
    `--namespace=${namespace}`,
    '--timeout=30s',
  );
}

/** Creates the pod; the names of its containers and volumes, and what kubectl was warned of. */
async function admitted(init: PodInit, ...args: readonly string[]) {
  const pod = podOf(init);
  const { stdout, stderr, code } = await fixture.controlPlane.kubectl(
    ['create', '-o', 'json', ...args, '-f', '-'],
    {
      input: JSON.stringify(pod),
    },
  );
  if (code !== 0) throw new Error(stderr);
  const { spec, metadata } = JSON.parse(stdout);
  const names = (list: readonly { name: string }[] = []) =>
    list.map(({ name }) => name).filter((name) => !name.startsWith('kube-api-access-'));
  return { containers: names(spec.containers), volumes: names(spec.volumes), metadata, warnings: stderr };
}

const INJECTED = { containers: ['app', 'envoy'], volumes: ['envoy-conf'] };
const UNTOUCHED = { containers: ['app'], volumes: [] };

describe('a pod gets the sidecar', () => {
  test.each<[string, PodInit]>([
    ['by its annotation', { annotations: { [KEY]: 'true' } }],
    ['by its label', { labels: { [KEY]: 'true' } }],
    ['by its namespace', { namespace: 'opted-in' }],
    [
      'by its label, although its annotation says no',
      { labels: { [KEY]: 'true' }, annotations: { [KEY]: 'false' } },
    ],
  ])('%s', async (_, init) => {
    const pod = await admitted(init);
    expect(pod).toMatchObject(INJECTED);
    expect(pod.warnings).toBe('');
    expect(JSON.parse(pod.metadata.annotations[`${KEY}-status`])).toMatchObject({
      templates: [
        {
          name: 'config',
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          shape: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ],
    });
  });

  test('in a server-side dry run too', async () => {
    expect(await admitted({ annotations: { [KEY]: 'true' } }, '--dry-run=server')).toMatchObject(INJECTED);
  });

  test('once, however often it is admitted', async () => {
    const first = await admitted({ annotations: { [KEY]: 'true' } });
    const name = `${first.metadata.name}-again`;
    const stored = JSON.parse(
      await fixture.kubectl('get', 'pod', first.metadata.name, '-n', 'plain', '-o', 'json'),
    );
    const { annotations, labels } = stored.metadata;
    const copy = { ...stored, metadata: { name, namespace: 'plain', annotations, labels }, status: {} };
    await fixture.apply(copy);
    const again = JSON.parse(await fixture.kubectl('get', 'pod', name, '-n', 'plain', '-o', 'json'));
    expect(again.spec.containers.map((c: { name: string }) => c.name)).toEqual(['app', 'envoy']);
  });
});

describe('a workload whose pods cannot have the sidecar', () => {
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
  ])('is created with a warning: a %s with %j', async (kind, init) => {
    expect(await warnings(kind, init)).toMatch(
      /^Warning: pods of this workload: no sidecar: conflict: spec.volumes\[name=envoy-conf\]: .*\n$/,
    );
  });

  test('is created in silence if its pods do not ask, or fit', async () => {
    expect(await warnings('Deployment', { spec: CLASH })).toBe('');
    expect(
      await warnings('Deployment', { namespace: 'opted-in', labels: { [KEY]: 'false' }, spec: CLASH }),
    ).toBe('');
    expect(await warnings('Deployment', { namespace: 'opted-in' })).toBe('');
  });
});

describe('a pod is left as it is, and we are not asked', () => {
  test.each<[string, PodInit]>([
    ['when it does not opt in', {}],
    [
      'when it opts out of its namespace by annotation',
      { namespace: 'opted-in', annotations: { [KEY]: 'false' } },
    ],
    ['when it opts out of its namespace by label', { namespace: 'opted-in', labels: { [KEY]: 'false' } }],
    [
      'when its label says no, although its annotation says yes',
      { labels: { [KEY]: 'false' }, annotations: { [KEY]: 'true' } },
    ],
    ['in kube-system', { namespace: 'kube-system', annotations: { [KEY]: 'true' } }],
  ])('%s', async (_, init) => {
    const before = await injectionRequests(fixture.operator.metricsUrl);
    if (init.namespace === 'kube-system') await serviceAccount('kube-system');
    expect(await admitted(init)).toMatchObject({ ...UNTOUCHED, warnings: '' });
    expect(await injectionRequests(fixture.operator.metricsUrl)).toBe(before);
  });
});

describe('a pod is left as it is, and whoever made it is told', () => {
  test('that its value is neither true nor false', async () => {
    const pod = await admitted({ namespace: 'opted-in', annotations: { [KEY]: 'yes' } });
    expect(pod).toMatchObject(UNTOUCHED);
    expect(pod.warnings).toMatch(/Warning: .*"yes"/);
  });

  test('which volume is in the way', async () => {
    const volumes = [{ name: 'envoy-conf', emptyDir: {} }];
    const pod = await admitted({ annotations: { [KEY]: 'true' }, spec: { volumes } });
    expect(pod).toMatchObject({ containers: ['app'], volumes: ['envoy-conf'] });
    expect(pod.warnings).toMatch(/Warning: .*spec\.volumes\[name=envoy-conf\]/);
  });

  test('that it is on the network of its host', async () => {
    const pod = await admitted({ annotations: { [KEY]: 'true' }, spec: { hostNetwork: true } });
    expect(pod).toMatchObject(UNTOUCHED);
    expect(pod.warnings).toMatch(/Warning: .*hostNetwork/);
  });
});

describe('the template', () => {
  const shipped = join(projectDirectory(), 'deploy/examples/template.yaml');

  async function adopted(change: () => Promise<unknown>): Promise<void> {
    const generation = async () =>
      /^envoy_initializer_template_generation (\d+)/m.exec(
        await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text(),
      )?.[1];
    const before = await generation();
    await change();
    await eventually('the template is adopted', async () => (await generation()) !== before);
  }

  test('is followed when it changes', async () => {
    const changed = (await readFile(shipped, 'utf8')).replaceAll(
      'name: envoy\n        image',
      'name: proxy\n        image',
    );
    await adopted(() => fixture.controlPlane.kubectl(['apply', '-f', '-'], { input: changed }));
    expect(await admitted({ annotations: { [KEY]: 'true' } })).toMatchObject({
      containers: ['app', 'proxy'],
    });
    await adopted(() => fixture.kubectl('apply', '-f', shipped));
    expect(await admitted({ annotations: { [KEY]: 'true' } })).toMatchObject(INJECTED);
  });

  test('is the one that the namespace selects, unless the pod selects its own', async () => {
    const selecting = (templates: string) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'selecting', annotations: { [`${KEY}-templates`]: templates } },
    });
    const labels = { [KEY]: 'true' };
    const pod = (own?: string) =>
      admitted({ namespace: 'selecting', labels, annotations: own ? { [`${KEY}-templates`]: own } : {} });
    const counted = async () =>
      Number(
        /^envoy_initializer_template_injections_total\{.*template="gateway".*\} (\d+)$/m.exec(
          await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text(),
        )?.[1] ?? 0,
      );
    const patch = { data: { 'config.gateway': 'containers: [{name: gateway, image: g}]' } };
    const config = [
      'patch',
      'configmap',
      'envoy-initializer',
      '-n',
      'envoy-initializer',
      '--type=merge',
      '-p',
    ];
    await adopted(() => fixture.kubectl(...config, JSON.stringify(patch)));
    await fixture.apply(selecting('gateway'));
    await serviceAccount('selecting');
    expect(await pod()).toMatchObject({ containers: ['app', 'gateway'], warnings: '' });
    expect(await counted()).toBe(1);
    expect(await pod('config')).toMatchObject(INJECTED);
    await fixture.apply(selecting('gateway,nope'));
    await eventually('the namespace is followed', async () => (await pod()).warnings !== '');
    expect(await pod()).toMatchObject({
      ...UNTOUCHED,
      warnings: expect.stringContaining(`the namespace's annotation ${KEY}-templates names template "nope"`),
    });
    await adopted(() => fixture.kubectl(...config, '{"data":{"config.gateway":null}}'));
  });

  test('stays as it was when a bad one gets in, which an Event says, and the process stays ready', async () => {
    await fixture.kubectl('delete', 'validatingwebhookconfiguration', 'envoy-initializer');
    const patch = JSON.stringify({ data: { config: 'containers:\n- nmae: envoy\n' } });
    await fixture.kubectl(
      'patch',
      'configmap',
      'envoy-initializer',
      '-n',
      'envoy-initializer',
      '--type=merge',
      '-p',
      patch,
    );
    const events = [
      'get',
      'events',
      '-n',
      'envoy-initializer',
      '-o',
      'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}',
    ];
    await eventually('the Event is there', async () =>
      (await fixture.kubectl(...events)).includes('InvalidTemplate'),
    );
    expect(await fixture.kubectl(...events)).toMatch(/InvalidTemplate: .*nmae/);
    expect(await admitted({ annotations: { [KEY]: 'true' } })).toMatchObject(INJECTED);
    expect((await fetch(`${fixture.operator.metricsUrl}/readyz`)).status).toBe(200);
    await fixture.kubectl('apply', '-f', shipped);
  });

  test('is the last good one when the ConfigMap is deleted', async () => {
    await fixture.kubectl('delete', 'configmap', 'envoy-initializer', '-n', 'envoy-initializer');
    expect(await admitted({ annotations: { [KEY]: 'true' } })).toMatchObject(INJECTED);
  });
});
