import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { containers, nameOf, type Pod } from '../../../src/injection/podspec/pod.ts';
import { dryRunPod } from '../../../src/kube/client/dry-run.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE, startOperator } from '../../env/operator.ts';
import { DEMO_TEMPLATE, type PodInit, podOf } from '../../support/injection/demo.ts';
import { since } from '../../support/jest/since.ts';
import { connect } from '../../support/operator/api-access.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

/** Kubernetes has these policies since 1.36. */
const { describe, test } = since(36);

const KEY = 'initializer.kubernetes.io/envoy';
const POLICY = 'envoy.initializer.kubernetes.io';
const NAMES = [POLICY, `namespace.${POLICY}`];
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture({ args: ['--policy=auto'] });
  await fixture.namespace('plain');
  await fixture.namespace('opted-in', { [KEY]: 'true' });
}, 300_000);

afterAll(() => fixture?.stop());

/** The names of the containers with which the pod is admitted; or why it is refused. */
async function admitted(init: PodInit, ...args: readonly string[]): Promise<readonly string[] | string> {
  const { code, stdout, stderr } = await fixture.controlPlane.kubectl(
    ['create', '-o', 'json', ...args, '-f', '-'],
    { input: JSON.stringify(podOf(init)) },
  );
  if (code !== 0) return stderr;
  const { containers, initContainers = [] } = JSON.parse(stdout).spec;
  return [...initContainers, ...containers].map(({ name }: { name: string }) => name);
}

/** What the API server has of our policies: names and resourceVersions. */
async function policies(kind = 'mutatingadmissionpolicy'): Promise<Record<string, string>> {
  const list = JSON.parse(await fixture.kubectl('get', kind, '-l', 'app=envoy-initializer', '-o', 'json'));
  return Object.fromEntries(
    list.items.map(({ metadata }: { metadata: { name: string; resourceVersion: string } }) => [
      metadata.name,
      metadata.resourceVersion,
    ]),
  );
}

const asking = { annotations: { [KEY]: 'true' } };
const exists = (kind: string) => async () =>
  NAMES.join() ===
  Object.keys(await policies(kind))
    .sort()
    .join();

test('an operator makes a policy and its binding for each webhook, owned by its namespace', async () => {
  await eventually('the policies are there', exists('mutatingadmissionpolicy'));
  await eventually('their bindings are there', exists('mutatingadmissionpolicybinding'));
  const owner = await fixture.kubectl(
    'get',
    'namespace',
    OPERATOR_NAMESPACE,
    '-o',
    'jsonpath={.metadata.uid}',
  );
  for (const kind of ['mutatingadmissionpolicy', 'mutatingadmissionpolicybinding']) {
    const path = 'jsonpath={.items[*].metadata.ownerReferences[*].uid}';
    const owners = await fixture.kubectl('get', kind, '-l', 'app=envoy-initializer', '-o', path);
    expect(owners.split(' ')).toEqual([owner, owner]);
  }
});

test.each([
  ['a policy that is deleted', 'mutatingadmissionpolicy', undefined],
  [
    'a policy that somebody adds to',
    'mutatingadmissionpolicy',
    {
      spec: { matchConstraints: { objectSelector: { matchLabels: { never: 'true' } } } },
    },
  ],
  ['a label that is removed', 'mutatingadmissionpolicybinding', { metadata: { labels: { app: null } } }],
])('%s is restored by the operator', async (_, kind, patch) => {
  const spec = async () => {
    const { items } = JSON.parse(
      await fixture.kubectl('get', kind, '-l', 'app=envoy-initializer', '-o', 'json'),
    );
    return items.map((item: { spec: unknown }) => item.spec);
  };
  const before = await spec();
  await fixture.kubectl(
    ...(patch ? ['patch', '--type=merge', `--patch=${JSON.stringify(patch)}`] : ['delete']),
    ...[kind, POLICY],
  );
  await eventually('it is as before', async () => JSON.stringify(await spec()) === JSON.stringify(before));
});

describe('while every operator is dead', () => {
  beforeAll(async () => {
    fixture.operator.process.kill();
    await fixture.operator.process.exited;
    await eventually('the policies are in effect', async () =>
      isInjected(await admitted(asking, '--dry-run=server')),
    );
  });

  test.each<[string, PodInit, readonly string[]]>([
    ['by its annotation', asking, ['app', 'envoy']],
    ['by its label', { labels: { [KEY]: 'true' } }, ['app', 'envoy']],
    ['by its namespace', { namespace: 'opted-in' }, ['app', 'envoy']],
    ['as a native one, if it is to end', { ...asking, spec: { restartPolicy: 'Never' } }, ['envoy', 'app']],
  ])('a pod gets its sidecar while every operator is dead, %s', async (_, init, names) => {
    expect(await admitted(init)).toEqual(names);
  });

  // biome-ignore format: a line for each case
  test.each<[string, PodInit]>([
    ['wants an image of its own', { annotations: { [KEY]: 'true', [`${KEY}-image`]: 'mine' } }],
    ['conflicts with the template', { ...asking, spec: { volumes: [{ name: 'envoy-conf', emptyDir: {} }] } }],
    ['lays something over the template', { ...asking, spec: { containers: [{ name: 'app', image: 'busybox' }, { name: 'envoy', image: 'auto' }] } }],
    ['has but the status of an injected one', { annotations: { [KEY]: 'true', [`${KEY}-status`]: statusOf('containers', 'envoy') } }],
  ])('a pod is refused while every operator is dead that asks for its sidecar and %s', async (_, init) => {
    expect(await admitted(init)).toMatch(/failed calling webhook "envoy\.initializer\.kubernetes\.io"/);
  });
});

describe('with an operator again', () => {
  beforeAll(() => fixture.operator.restart());

  test('a pod that is created while the template changes has one sidecar, the old or the new', async () => {
    const api = connect(fixture.controlPlane.kubeconfigPath);
    const seen = new Set<string>();
    const done = new AbortController();
    let created = 0;
    const one = async (init: PodInit) => {
      const pod = podOf(init);
      const answer = await dryRunPod(api.client, pod.metadata.namespace, pod);
      seen.add(
        answer.accepted
          ? containers(answer.pod as Pod)
              .map(nameOf)
              .join(' ')
          : answer.error.message,
      );
      created += 1;
    };
    const creations = (async () => {
      const under: Promise<void>[] = [];
      while (!done.signal.aborted) {
        under.push(one(under.length % 2 === 0 ? asking : { namespace: 'opted-in' }));
        await pause(50);
      }
      await Promise.all(under);
    })();
    try {
      for (const name of ['second', 'third', 'envoy']) {
        await useTemplate(DEMO_TEMPLATE.replace('name: envoy', `name: ${name}`));
        await eventually(`pods get ${name}`, async () => seen.has(`app ${name}`));
        const enough = created + 40;
        await eventually('others are created after them', async () => created >= enough);
      }
    } finally {
      done.abort();
      await creations;
      await api.close();
    }
    expect([...seen].sort()).toEqual(['app envoy', 'app second', 'app third']);
  });

  test('a template that a policy cannot have leaves all to the webhook until one comes that it can', async () => {
    const long = JSON.stringify('x'.repeat(100_001));
    await useTemplate(DEMO_TEMPLATE.replace('args:', `workingDir: ${long}\n    args:`));
    await eventually('there are no policies', async () => Object.keys(await policies()).length === 0);
    expect(await admitted(asking, '--dry-run=server')).toEqual(['app', 'envoy']);
    await useTemplate(DEMO_TEMPLATE);
    await eventually('there are policies again', exists('mutatingadmissionpolicy'));
  });
});

test('there are no admission policies with --policy=off', async () => {
  const { controlPlane, operator, logFile: log } = fixture;
  operator.process.kill();
  await operator.process.exited;
  const other = await startOperator(controlPlane, { log, args: ['--policy=off'] });
  await eventually('policies and bindings are gone', async () => {
    const all = [await policies(), await policies('mutatingadmissionpolicybinding')];
    return all.every((each) => Object.keys(each).length === 0);
  });
  expect(await admitted(asking, '--dry-run=server')).toEqual(['app', 'envoy']);
  other.process.kill();
  await other.process.exited;
});

testWithControllerManager(
  'there are no admission policies once the namespace of the operator is gone',
  async () => {
    await startOperator(fixture.controlPlane, { log: fixture.logFile });
    await eventually('the policies are there', exists('mutatingadmissionpolicy'));
    await fixture.kubectl('delete', 'namespace', OPERATOR_NAMESPACE);
    await eventually('they are gone', async () => Object.keys(await policies()).length === 0);
    await eventually('the bindings are gone', async () => {
      return Object.keys(await policies('mutatingadmissionpolicybinding')).length === 0;
    });
  },
);

async function useTemplate(config: string): Promise<void> {
  const patch = JSON.stringify({ data: { config } });
  await fixture.run(`patch configmap envoy-initializer -n ${OPERATOR_NAMESPACE} --type=merge -p`, patch);
}

function statusOf(kind: string, ...names: readonly string[]): string {
  return JSON.stringify({
    version: 1,
    templates: [{ name: 'config', sha256: 'old' }],
    added: { [kind]: names },
  });
}

function isInjected(names: readonly string[] | string): boolean {
  return Array.isArray(names) && names.includes('envoy');
}
