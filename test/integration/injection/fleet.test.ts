import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

jest.setTimeout(120_000);

const OPERATOR = 'envoy-initializer';
const FENCE = 'envoy-initializer-fence';
let fixture: OperatorFixture;
const kubectl: OperatorFixture['run'] = (...args) => fixture.run(...args);

beforeAll(async () => {
  fixture = await startOperatorFixture({ args: ['--repair=evict'] });
  const repair = (file: string) => join(projectDirectory(), 'deploy/components/repair', file);
  await fixture.kubectl('apply', '-f', repair('eviction.yaml'));
  await kubectl(`patch validatingadmissionpolicy ${FENCE} --type=json --patch-file=${repair('fence.yaml')}`);
  await eventually('the fence lets evictions through', async () => {
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'none', namespace: 'default' },
    };
    const path = '/api/v1/namespaces/default/pods/none/eviction?dryRun=All';
    const args = ['create', '--raw', path, '-f', '-', `--as=system:serviceaccount:${OPERATOR}:${OPERATOR}`];
    const { stderr } = await fixture.controlPlane.kubectl(args, { input: JSON.stringify(eviction) });
    return !stderr.includes(FENCE);
  });
}, 600_000);

afterAll(() => fixture?.stop());

const SPEC = { containers: [{ name: 'app', image: 'app' }] };

const pod = (name: string, inNamespace: string, annotations: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: inNamespace, annotations },
  spec: SPEC,
});

const deployment = (name: string, inNamespace: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: inNamespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: SPEC },
  },
});

async function pods(inNamespace: string) {
  const { items } = JSON.parse(await kubectl(`get pods --namespace=${inNamespace} -o json`));
  return items as { metadata: { name: string }; spec: { containers: { name: string }[] } }[];
}

const READY = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
const hasSidecar = ({ spec }: { spec: { containers: { name: string }[] } }) =>
  spec.containers.some(({ name }) => name === 'envoy');

async function metric(line: string): Promise<boolean> {
  const text = await fixture.metrics();
  return text.split('\n').includes(line);
}

/** Runs with the webhook's configuration away, and puts back what was there. */
async function withoutWebhook(run: () => Promise<void>): Promise<void> {
  const configuration = JSON.parse(await kubectl(`get mutatingwebhookconfiguration ${OPERATOR} -o json`));
  await kubectl(`delete mutatingwebhookconfiguration ${OPERATOR}`);
  try {
    await run();
  } finally {
    const { webhooks, metadata } = configuration;
    const { name, labels, annotations, ownerReferences } = metadata;
    await fixture.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name, labels, annotations, ownerReferences },
      webhooks,
    });
  }
}

const data = async (inNamespace: string) =>
  JSON.parse(await kubectl(`get configmap envoy --namespace=${inNamespace} -o json`)).data;
const change = (inNamespace: string, value: string) =>
  kubectl(
    `patch configmap envoy --namespace=${inNamespace} --type=merge -p`,
    JSON.stringify({ data: { 'envoy.json': value } }),
  );

test("a namespace gets Envoy's configuration with its first pod with a sidecar, and it follows its source", async () => {
  await fixture.namespace('copied');
  await fixture.apply(pod('a', 'copied', { [OPT_IN]: 'true' }));
  await eventually(
    'the copy is there',
    async () => (await data('copied'))['envoy.json'] === (await data(OPERATOR))['envoy.json'],
  );
  await change(OPERATOR, '{"changed": true}');
  await eventually(
    'the copy is changed',
    async () => (await data('copied'))['envoy.json'] === '{"changed": true}',
  );
});

test("Envoy's configuration is left alone where it is a user's own, and from when it is", async () => {
  await fixture.namespace('own');
  await kubectl('create configmap envoy --namespace=own --from-literal=envoy.json=mine');
  await fixture.apply(pod('a', 'own', { [OPT_IN]: 'true' }));
  await change('copied', 'mine now');
  await fixture.namespace('later');
  await change(OPERATOR, '{"changed": "again"}');
  await fixture.apply(pod('a', 'later', { [OPT_IN]: 'true' }));
  await eventually(
    'a later copy is there',
    async () => (await data('later'))['envoy.json'] === '{"changed": "again"}',
  );
  expect(await data('own')).toEqual({ 'envoy.json': 'mine' });
  expect((await data('copied'))['envoy.json']).toBe('mine now');
});

testWithControllerManager(
  'pods admitted without their sidecar are replaced if they have a controller, and reported if not',
  async () => {
    await fixture.namespace('missed', { [OPT_IN]: 'true' });
    await withoutWebhook(async () => {
      await fixture.apply(
        deployment('one', 'missed', 4),
        deployment('two', 'missed', 4),
        pod('alone', 'missed'),
      );
      await eventually('all are there', async () => (await pods('missed')).length === 9);
      expect((await pods('missed')).some(hasSidecar)).toBe(false);
    });
    await eventually('all but one have their sidecar', async () => {
      const found = await pods('missed');
      // As their kubelets would.
      for (const { metadata } of found.filter(hasSidecar))
        await kubectl(`patch pod ${metadata.name} --namespace=missed --subresource=status -p`, READY);
      return found.length === 9 && found.filter(hasSidecar).length === 8;
    });
    expect(
      hasSidecar((await pods('missed')).find(({ metadata }) => metadata.name === 'alone') ?? { spec: SPEC }),
    ).toBe(false);
    expect(await kubectl('describe pod alone --namespace=missed')).toMatch(
      /SidecarMissing .*no operator replica answered or its namespace opted in later/,
    );
    expect(await metric('envoy_initializer_drifted_pods{namespace="missed",kind="missed"} 1')).toBe(true);
  },
);

testWithControllerManager(
  'pods admitted without their sidecar are left alone once the first replacement came without it too',
  async () => {
    await fixture.namespace('broken', { [OPT_IN]: 'true' });
    await withoutWebhook(async () => {
      await fixture.apply(deployment('one', 'broken', 3), deployment('two', 'broken', 3));
      await eventually('repair has stopped', () => metric('envoy_initializer_repair_stopped 1'));
      const before = (await pods('broken')).map(({ metadata }) => metadata.name);
      await eventually('all are judged', () =>
        metric('envoy_initializer_drifted_pods{namespace="broken",kind="missed"} 6'),
      );
      // One more may be tried meanwhile.
      const after = (await pods('broken')).map(({ metadata }) => metadata.name);
      expect(after.filter((name) => !before.includes(name)).length).toBeLessThanOrEqual(1);
    });
    await eventually('that is in the log', async () =>
      (await readFile(fixture.logFile, 'utf8')).includes('the replacement of an evicted pod has no sidecar'),
    );
  },
);

test('a pod whose sidecar fails has an Event with the remedy', async () => {
  await fixture.namespace('failing');
  await fixture.apply(pod('web', 'failing', { [OPT_IN]: 'true' }));
  const message = "[time][1][critical][main] cannot bind '0.0.0.0:80': Address already in use\n";
  const lastState = { terminated: { exitCode: 1, message } };
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  const envoy = { name: 'envoy', image: '', imageID: '', ready: false, restartCount: 1, state, lastState };
  const patch = JSON.stringify({ status: { containerStatuses: [envoy] } });
  await kubectl('patch pod web --namespace=failing --subresource=status --type=merge -p', patch);
  const said = /SidecarFailed .*envoy ended with exit code 1: cannot bind '0.0.0.0:80': .*; move/;
  await eventually('it is there', async () =>
    said.test(await kubectl('describe pod web --namespace=failing')),
  );
});

const drift = async (...args: readonly string[]) => {
  const terminal = new MemoryTerminal({});
  const line = [
    'node',
    'envoy-initializer',
    'drift',
    `--kubeconfig=${fixture.controlPlane.kubeconfigPath}`,
    ...args,
  ];
  return { code: await runCli(line, terminal), out: terminal.stdout, err: terminal.stderr };
};

test('drift counts pods with the sidecar of another template also where they asked and were skipped', async () => {
  await fixture.namespace('asked');
  await fixture.apply(
    pod('mistyped', 'asked', { [OPT_IN]: 'yes' }),
    {
      ...pod('own', 'asked', { [OPT_IN]: 'true' }),
      spec: { containers: [{ name: 'envoy', image: 'own' }] },
    },
    pod('quiet', 'asked'),
  );
  expect((await drift('-n', 'asked')).err).toMatch(
    /^no drift in 3 pods; 2 pods asked for a sidecar and got none \((invalid-value: 1|container-exists: 1|, ){3}\)\n$/,
  );
});

test('drift counts pods with the sidecar of another template also where Envoy is older than a fix', async () => {
  await fixture.namespace('risky');
  for (const name of ['old', 'new']) await fixture.apply(pod(name, 'risky', { [OPT_IN]: 'true' }));
  await kubectl('set image pod/old envoy=envoyproxy/envoy:v1.38.0 --namespace=risky');
  expect(await drift('-n', 'risky')).toEqual({
    code: 0,
    out: '',
    err: expect.stringMatching(
      /^no drift in 2 pods\n(1 pod: Envoy (1.38.0|of lyft\/envoy) lets one client exhaust its memory .*\n){2}$/,
    ),
  });
  await kubectl('delete pods --all --now --namespace=risky');
});

testWithControllerManager(
  'drift lists pods with the sidecar of another template until they are recreated',
  async () => {
    await fixture.namespace('stale', { [OPT_IN]: 'true' });
    await fixture.apply(deployment('web', 'stale', 2));
    await eventually('its pods are there', async () => (await pods('stale')).filter(hasSidecar).length === 2);
    expect(await drift('-n', 'stale')).toEqual({
      code: 0,
      out: '',
      err: expect.stringMatching(/^no drift in 2 pods\n2 pods: Envoy of lyft\/envoy .*\n$/),
    });
    const template = JSON.parse(await kubectl(`get configmap ${OPERATOR} --namespace=${OPERATOR} -o json`))
      .data.config;
    const data = { config: template.replace('concurrency 4', 'concurrency 2') };
    await kubectl(
      `patch configmap ${OPERATOR} --namespace=${OPERATOR} --type=merge -p`,
      JSON.stringify({ data }),
    );
    await eventually('both are stale', () =>
      metric('envoy_initializer_drifted_pods{namespace="stale",kind="stale"} 2'),
    );
    const listed = await drift('-n', 'stale');
    expect(listed.code).toBe(1);
    expect(listed.out).toMatch(/^NAMESPACE .*\n(stale +web-\S+ +stale +ReplicaSet\/web-\w+\n){2}$/);
    const everywhere = await drift('-A');
    expect([everywhere.code, everywhere.err]).toEqual([1, expect.not.stringContaining('error')]);
    for (const [pod] of listed.out.matchAll(/web-\S+(?= +stale)/g)) expect(everywhere.out).toContain(pod);
    expect((await drift('-A', '-l', 'app=other')).out).toBe('');
    await fixture.kubectl('rollout', 'restart', 'deployment/web', '--namespace=stale');
    // No kubelet makes the new pods Ready: what a Deployment starts with is to be seen, not its end.
    await eventually('new pods have the new one', async () => {
      const { length } = await pods('stale');
      const { out } = await drift('-n', 'stale', '-o', 'json');
      return JSON.parse(out).length < length;
    });
  },
);
