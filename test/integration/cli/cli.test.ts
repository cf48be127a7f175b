import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { processTerminal } from '../../../src/cli/io/terminal.ts';
import { runCli } from '../../../src/program.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE, OPT_IN } from '../../support/injection/demo.ts';
import { since } from '../../support/jest/since.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  for (const name of ['plain', 'limited']) await fixture.namespace(name);
  await fixture.namespace('opted-in', { [OPT_IN]: 'true' });
});

afterAll(() => fixture?.stop());

/** The command line in this process, against the fixture's API server as its administrator. */
async function cli(args: readonly string[], stdin = '') {
  const terminal = new MemoryTerminal({ '-': stdin });
  const read = terminal.read.bind(terminal);
  terminal.read = (file) => (file === '-' ? read(file) : processTerminal.read(file));
  const kubeconfig = args[0] === 'uninject' ? [] : ['--kubeconfig', fixture.controlPlane.kubeconfigPath];
  const argv = ['node', 'envoy-initializer', ...args, ...kubeconfig];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

async function check(...args: readonly string[]) {
  const { code, stdout, stderr } = await cli(['check', '-o', 'json', ...args]);
  if (code === 2) throw new Error(stderr);
  const [report] = JSON.parse(stdout);
  return { code, report, reasons: report.findings.map(({ reason }: { reason: string }) => reason) };
}

const podSpec = { containers: [{ name: 'app', image: 'busybox' }] };
const deployment = (name: string, ns: string, opts: { own?: object; pod?: object; spec?: object } = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: ns, annotations: opts.own ?? {} },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name }, annotations: opts.pod ?? {} },
      spec: { ...podSpec, ...opts.spec },
    },
  },
});
const pod = (name: string, ns: string, app: string, annotations: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: ns, labels: { app }, annotations },
  spec: podSpec,
});

test('check finds nothing at a workload whose pods get their sidecar', async () => {
  await fixture.apply(
    deployment('web', 'plain', { pod: { [OPT_IN]: 'true' } }),
    pod('web-1', 'plain', 'web', { [OPT_IN]: 'true' }),
  );
  const { code, report } = await check('deploy/web', '-n', 'plain');
  expect(report).toMatchObject({
    decision: 'inject',
    askedBy: `the annotation ${OPT_IN} of the pod`,
    webhook: 'envoy.initializer.kubernetes.io',
    failurePolicy: 'Fail',
    dryRun: 'accepted with the sidecar',
    pods: [{ name: 'web-1', sidecar: 'current' }],
    findings: [],
  });
  expect(code).toBe(0);
});

test('check follows the flags of the installed operator, and says that no replica is ready', async () => {
  const labels = { app: 'operator' };
  const installed = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'envoy-initializer', namespace: 'envoy-initializer' },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            { name: 'envoy-initializer', image: 'a', args: ['serve', '--require-annotation=false'] },
          ],
        },
      },
    },
  };
  await fixture.apply(installed, pod('says-nothing', 'plain', 'none'));
  const { code, report } = await check('pod/says-nothing', '-n', 'plain');
  await fixture.kubectl('delete', 'deployment/envoy-initializer', '-n', 'envoy-initializer');
  expect(code).toBe(1);
  expect(report).toMatchObject({
    decision: 'inject',
    askedBy: 'the rule for all pods (--require-annotation=false)',
  });
  expect(report.findings).toContainEqual({
    reason: 'no-replica',
    message: 'no operator replica is ready: see kubectl --namespace envoy-initializer describe pods',
  });
  expect((await check('pod/says-nothing', '-n', 'plain')).report.decision).toBe('skip');
});

test('check foretells what a LimitRange and a quota refuse', async () => {
  await fixture.apply(
    {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'small', namespace: 'limited' },
      spec: {
        limits: [
          { type: 'Container', max: { memory: '256Mi' }, defaultRequest: { cpu: '1m', memory: '1Mi' } },
        ],
      },
    },
    deployment('large', 'limited', { pod: { [OPT_IN]: 'true' } }),
  );
  const { report, reasons } = await check('deploy/large', '-n', 'limited');
  expect(reasons).toEqual(['limit-range']);
  expect(report.findings[0].message).toMatch(/max 256Mi of LimitRange small/);
  await fixture.kubectl('delete', 'limitrange', 'small', '-n', 'limited');
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'tight', namespace: 'limited' },
    spec: { hard: { 'requests.cpu': '50m' } },
  });
  const quota = await check('deploy/large', '-n', 'limited');
  expect(quota.report.findings[0].message).toMatch(/quota: tight/);
});

// Older API servers drop the field that does not fit.
since(33).test(
  'check proves the template for a pod that may not fit it, as the operator does (since 1.33)',
  async () => {
    const use = async (config: string) => {
      const patch = JSON.stringify({ data: { config } });
      const flags = ['-n', 'envoy-initializer', '--type=merge', '--patch', patch];
      await fixture.kubectl('patch', 'configmap', 'envoy-initializer', ...flags);
    };
    const metadata = { name: 'once', namespace: 'plain', annotations: { [OPT_IN]: 'true' } };
    const spec = { restartPolicy: 'Never', containers: [{ name: 'app', image: 'busybox' }] };
    await fixture.apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    const resizing = 'resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]';
    await use(DEMO_TEMPLATE.replace('args:', `${resizing}\n    args:`));
    const { report, reasons } = await check('pod/once', '-n', 'plain');
    expect(report).toMatchObject({ decision: 'skip', reason: 'conflict' });
    expect(reasons).toContain('conflict');
    expect(report.findings[0].message).toMatch(
      / in pods with spec\.restartPolicy: Never: spec\.initContainers\[name=envoy\]\.resizePolicy: /,
    );
    await use(DEMO_TEMPLATE);
    expect((await check('pod/once', '-n', 'plain')).report).toMatchObject({ decision: 'inject' });
  },
);

test('check sees that the webhook does not answer, or is not there', async () => {
  await fixture.apply(
    deployment('web', 'opted-in'),
    deployment('alone', 'plain', { pod: { [OPT_IN]: 'true' } }),
  );
  fixture.operator.process.kill('SIGTERM');
  await fixture.operator.process.exited;
  const explicit = await check('deploy/alone', '-n', 'plain');
  expect(explicit.reasons).toEqual(['webhook-silent']);
  expect(explicit.report.findings[0].message).toMatch(
    /failed calling webhook "envoy\.initializer\.kubernetes\.io"/,
  );
  expect((await check('deploy/web', '-n', 'opted-in')).reasons).toEqual(['webhook-silent']);
  await fixture.operator.restart();
  expect((await check('deploy/web', '-n', 'opted-in')).reasons).toEqual([]);
  const saved = await fixture.kubectl(
    'get',
    'mutatingwebhookconfiguration',
    'envoy-initializer',
    '-o',
    'json',
  );
  await fixture.kubectl('delete', 'mutatingwebhookconfiguration', 'envoy-initializer');
  expect((await check('deploy/web', '-n', 'opted-in')).reasons).toEqual(['no-webhook', 'webhook-silent']);
  await fixture.apply(JSON.parse(saved));
});
