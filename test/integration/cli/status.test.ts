import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE } from '../../support/injection/demo.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

const LABELS = { app: 'envoy-initializer' };
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  await fixture.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } });
});

afterAll(() => fixture?.stop());

async function cli(...args: readonly string[]) {
  const terminal = new MemoryTerminal();
  const argv = ['node', 'envoy-initializer', ...args, '--kubeconfig', fixture.controlPlane.kubeconfigPath];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

interface Row {
  readonly check: string;
  readonly state: string;
  readonly detail: string;
}

/** The rows of `status`, as `state: detail` by their checks. */
async function rows(...args: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const { stdout, stderr } = await cli(...args, '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const found: readonly Row[] = JSON.parse(stdout);
  return Object.fromEntries(found.map(({ check, state, detail }) => [check, `${state}: ${detail}`]));
}

/** As the namespace demands. */
function restrictedSpec(container: object): object {
  const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  const base = { name: 'envoy-initializer', image: 'envoy-initializer:0.0.1', securityContext: restricted };
  return {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ ...base, ...container }],
  };
}

/** The Deployment, and a pod of it that the process of the operator stands for. */
async function install(): Promise<void> {
  const args = ['serve', '--policy=off'];
  await fixture.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'envoy-initializer', namespace: OPERATOR_NAMESPACE, labels: LABELS },
    spec: {
      replicas: 1,
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: restrictedSpec({ args }) },
    },
  });
  const inNamespace = `--namespace=${OPERATOR_NAMESPACE}`;
  let pod = '';
  await eventually('the pod exists', async () => {
    pod = (
      await fixture.kubectl('get', 'pods', inNamespace, '-l', 'app=envoy-initializer', '-o', 'name')
    ).trim();
    return pod !== '';
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = JSON.stringify({ status: { phase: 'Running', conditions } });
  await fixture.kubectl(
    'patch',
    pod,
    inNamespace,
    '--subresource=status',
    '--type=merge',
    `--patch=${status}`,
  );
  await fixture.kubectl(
    'wait',
    'deployment/envoy-initializer',
    inNamespace,
    '--for=jsonpath={.status.readyReplicas}=1',
  );
}

test('status of a cluster without the Deployment says so, and returns 1', async () => {
  const { code, stdout } = await cli('status');
  expect(stdout).toMatch(/^CHECK +STATE +DETAIL\n/);
  expect(stdout).toMatch(
    /^replicas +problem +no Deployment envoy-initializer in namespace envoy-initializer$/m,
  );
  expect(stdout).toMatch(/^! replicas: use --operator-namespace, or install the operator$/m);
  expect(code).toBe(1);
});

describe('with the operator', () => {
  beforeAll(install);

  test('status reads the objects of the operator', async () => {
    const { code, stderr } = await cli('status');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await rows('status')).toEqual({
      server: expect.stringMatching(/^ok: Kubernetes v1\./),
      replicas: 'ok: 1 of 1 ready, image envoy-initializer:0.0.1',
      leader: expect.stringMatching(/^ok: /),
      webhooks: expect.stringMatching(/^ok: 10 webhooks, each with its caBundle$/),
      warnings: expect.stringMatching(/^(ok|note): /),
      template: expect.stringMatching(/^ok: sha256 [0-9a-f]{12}, the hash of all templates$/),
      policies: expect.stringMatching(/^none: /),
      rollout: expect.stringMatching(/^none: /),
      routes: expect.stringMatching(/^none: /),
      networks: 'none: there are none',
      multus: expect.stringMatching(/^ok: /),
      'node agents': expect.stringMatching(/^none: /),
      pods: expect.stringMatching(/^ok: no drift in \d+ pods?$/),
      'skipped pods': 'ok: none',
      'waiting pods': 'ok: none',
    });
  });

  test('status names a pod that fails; one that ends or has ended is no replica', async () => {
    const inNamespace = `--namespace=${OPERATOR_NAMESPACE}`;
    for (const [name, phase] of [
      ['ended', 'Succeeded'],
      ['other', 'Running'],
    ]) {
      await fixture.apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: OPERATOR_NAMESPACE, labels: LABELS },
        // Bound to a node, so that it stays until a kubelet has ended it.
        spec: { ...restrictedSpec({}), nodeName: 'none' },
      });
      const patch = `--patch=${JSON.stringify({ status: { phase } })}`;
      await fixture.kubectl(
        ...['patch', 'pod', `${name}`, inNamespace, '--subresource=status', '--type=merge', patch],
      );
    }
    expect((await rows('status')).replicas).toBe(
      'problem: 1 of 1 ready, image envoy-initializer:0.0.1, but others fail (other: Running)',
    );
    await fixture.kubectl('delete', 'pod', 'other', inNamespace, '--wait=false');
    expect((await rows('status')).replicas).toMatch(/^ok: 1 of 1 ready/);
    await fixture.kubectl('delete', 'pod', 'ended', 'other', inNamespace, '--force', '--grace-period=0');
  });

  test('status says a user without rights what is unknown, and by which right, with exit code 2', async () => {
    const found = await rows('status', '--as=nobody');
    const { server, routes: _, multus: __, ...rest } = found;
    expect(server).toMatch(/^ok: /);
    for (const row of Object.values(rest)) expect(row).toMatch(/^unknown: .*(forbidden|you need the right)/);
    expect(found.replicas).toMatch(
      /^unknown: you are not allowed to read this: deployments\.apps .* is forbidden/,
    );
    const { code, stderr } = await cli('status', '--as=nobody');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: no status could be read: you need the right to read the objects above\n',
    });
  });

  describe('with a faulty template', () => {
    const config = (text: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'envoy-initializer', namespace: OPERATOR_NAMESPACE },
      data: { config: text },
    });
    const current = async () => (await rows('status')).template ?? '';
    let webhooks: { metadata: object; webhooks: { failurePolicy: string }[] };

    beforeAll(async () => {
      const name = 'validatingwebhookconfiguration/envoy-initializer';
      webhooks = JSON.parse(await fixture.kubectl('get', name, '-o', 'json'));
      await fixture.kubectl('delete', name);
      const text = `${DEMO_TEMPLATE}\nimag: x\n`;
      await eventually('it is stored', () =>
        fixture.apply(config(text)).then(
          () => true,
          () => false,
        ),
      );
      await eventually('it is refused', async () => (await current()).startsWith('problem'));
    });
    afterAll(async () => {
      await fixture.apply(config(DEMO_TEMPLATE));
      await fixture.apply({
        ...webhooks,
        metadata: { name: 'envoy-initializer', labels: { app: 'envoy-initializer' } },
      });
      await eventually('it is in use', async () => (await current()).startsWith('ok'));
    });

    test('status names the fault of the live template, and the template that pods get', async () => {
      expect(await current()).toMatch(
        /^problem: config:23:1: imag: .*: pods get the last valid template, if there was one$/,
      );
    });

    test('check says what is wrong with the live template', async () => {
      const { code, stderr } = await cli('check', '--all', '-n', 'web');
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/^error: ConfigMap .*imag.*: replicas keep their last valid template/),
      });
    });
  });

  test('check network/NAME says what is wrong with a Network, and which pods wait', async () => {
    await fixture.apply(
      {
        apiVersion: 'samplecrd.k8s.io/v1',
        kind: 'Network',
        metadata: { name: 'large', namespace: 'web' },
        spec: { cidr: '10.0.0.0/8', gateway: '10.0.0.1' },
      },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'waits', namespace: 'web', annotations: { 'samplecrd.k8s.io/network': 'large' } },
        spec: { containers: [{ name: 'app', image: 'busybox' }] },
      },
    );
    const findings = async (target: string) =>
      JSON.parse((await cli('check', target, '-n', 'web', '-o', 'json')).stdout)[0].findings;
    const gated = {
      reason: 'scheduling-gated',
      message: expect.stringContaining('pod waits stays unscheduled'),
    };
    await eventually('the pod has its Event', async () =>
      JSON.stringify(await findings('pod/waits')).includes('WaitsForNetwork'),
    );
    expect(await findings('pod/waits')).toEqual([gated]);
    expect(await findings('network/large')).toEqual([
      { reason: 'RangeNotAllowed', message: expect.any(String) },
      gated,
    ]);
    expect((await rows('status')).networks).toBe(
      'problem: 1 of 1 Network with a problem (web/large: RangeNotAllowed)',
    );
    expect((await cli('check', 'network/none', '-n', 'web')).stderr).toBe(
      'error: network/none does not exist in namespace web\n',
    );
  });

  test('with the operator check --all names the objects with findings, and counts the others', async () => {
    const { code, stdout } = await cli('check', '--all', '-n', 'web');
    expect(stdout).toMatch(/^pod\/waits in namespace web\n/m);
    expect(stdout).toMatch(/\n1 checked, 1 with findings\n$/);
    expect(code).toBe(1);
    expect((await cli('check', '-A', '-l', 'app=none')).stdout).toBe('0 checked, 0 with findings\n');
  });
});
