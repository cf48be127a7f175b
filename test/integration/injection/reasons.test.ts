import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decide } from '../../../src/injection/inject.ts';
import { RULES } from '../../../src/injection/rules/index.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, decideInput, OPT_IN } from '../../support/injection/demo.ts';
import { namesOf, specOf } from '../../support/injection/inject-checked.ts';
import { type Answer, InjectionStage } from '../../support/injection/injection-stage.ts';
import {
  appPod,
  NAMESPACES,
  REASON_CASES,
  type ReasonCase,
  TEMPLATES,
} from '../../support/injection/reason-cases.ts';
import { MINOR } from '../../support/jest/since.ts';

let stage: InjectionStage;

beforeAll(async () => {
  stage = await InjectionStage.start();
  await stage.adopt(TEMPLATES);
  await stage.namespaces(NAMESPACES);
  await stage.fixture.apply({
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'small', namespace: 'limited' },
    spec: { limits: [{ type: 'Container', max: { memory: '256Mi' } }] },
  });
  for (const name of ['kube-system', 'kube-public', 'kube-node-lease', 'envoy-initializer']) {
    await stage.serviceAccount(name);
  }
});

afterAll(() => stage?.stop());

const OPTED_IN = appPod({ annotations: { [OPT_IN]: 'true' } });
/** Older API servers drop the resources of whole pods. */
const KNOWN = Object.entries(REASON_CASES).filter(([reason]) => reason !== 'pod-resources' || MINOR >= 34);
const CASES = KNOWN.flatMap(([reason, cases]) =>
  cases.map((its): [string, string, ReasonCase] => [reason, its.name, its]),
);
const containersOf = (pod: JsonObject) => [
  namesOf(specOf(pod).initContainers ?? []),
  namesOf(specOf(pod).containers),
];

/** That the webhook lets a pod pass as it is; what it warns of. */
function leftAlone({ status, response }: Answer): readonly string[] {
  const { warnings, ...rest } = response as JsonObject;
  expect({ status, ...rest }).toEqual({ status: 200, uid: '0a1b', allowed: true });
  return (warnings ?? []) as readonly string[];
}

test.each(CASES)(
  'a pod is left as it is for the reason %s: %s',
  async (reason, _, { namespace = 'plain', pod, asked = true, warning, policyWarning, refused }) => {
    const created = await stage.counting(() => stage.create(namespace, pod));
    expect(created.asked).toBe(asked ? 1 : 0);
    expect(created.decided).toEqual(asked ? { [`skipped/${reason}`]: 1 } : {});
    if (refused) {
      expect(created.result).toMatchObject({
        code: refused.code,
        message: expect.stringMatching(refused.message),
      });
    } else {
      expect(created.result).toMatchObject({ code: 201, message: '' });
      expect(containersOf(created.result.pod)).toEqual(containersOf(pod));
    }
    // As the selectors of another installation might let it through.
    const direct = await stage.counting(() => stage.ask({ namespace, object: pod }));
    expect(direct.decided).toEqual({ [`skipped/${reason}`]: 1 });
    const told = leftAlone(direct.result);
    if (warning) expect(told[0]?.replace(`no sidecar: ${reason}: `, '')).toMatch(warning);
    else expect(told).toEqual([]);
    const byPolicy = policyWarning ? [expect.stringMatching(policyWarning)] : [];
    expect(created.result.warnings).toEqual(asked ? told : byPolicy);
  },
);

test('a pod that comes a second time is left as it is for the reason already-injected', async () => {
  const { pod } = await stage.create('plain', OPTED_IN);
  const { metadata, spec } = pod as { metadata: JsonObject; spec: JsonObject };
  const { annotations } = metadata;
  const again = { ...pod, metadata: { name: 'again', annotations: annotations ?? {} } };
  const created = await stage.counting(() => stage.create('plain', again));
  // The conditions of the webhooks pass over what has its sidecar already.
  expect(created).toMatchObject({ asked: 0, decided: {} });
  expect(created.result).toMatchObject({ code: 201, warnings: [], pod: { metadata: { annotations } } });
  expect(specOf(created.result.pod).containers).toEqual(spec.containers);
  const direct = await stage.counting(() => stage.ask({ namespace: 'plain', object: again }));
  expect(direct.decided).toEqual({ 'skipped/already-injected': 1 });
  expect(leftAlone(direct.result)).toEqual([]);
});

test('a pod with the reason proxy-user gets its sidecar, and its author a warning', async () => {
  const annotations = { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'capture' };
  const pod = appPod({ annotations }, { securityContext: { runAsUser: 1337 } });
  const created = await stage.counting(() => stage.create('plain', pod));
  expect(created).toMatchObject({ asked: 1, decided: { 'injected/proxy-user': 1 } });
  expect(await stage.fixture.metrics()).toMatch(
    /^envoy_initializer_template_injections_total\{.*template="capture".*\} 1$/m,
  );
  expect(namesOf(specOf(created.result.pod).containers)).toEqual(['app', 'envoy']);
  expect(created.result.warnings).toEqual([
    "sidecar added: proxy-user: container app runs as user 1337, Envoy's own, so its connections bypass Envoy: use another runAsUser",
  ]);
});

describe('not-a-pod-create', () => {
  const pods = '/api/v1/namespaces/plain/pods';
  const resource = (name: string, group = '') => ({ group, version: 'v1', resource: name });
  const deployment = {
    metadata: { name: 'web', annotations: { [OPT_IN]: 'true' } },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'web' } },
      template: appPod({ labels: { app: 'web', [OPT_IN]: 'true' } }),
    },
  };

  beforeAll(async () => {
    expect(await stage.call('POST', pods, appPod({ name: 'there' }))).toMatchObject({ code: 201 });
  });

  // biome-ignore format: a line for each case
  test.each<[string, string, string, unknown, string | undefined, JsonObject]>([
    [
      'an update',
      'PATCH',
      `${pods}/there`,
      { metadata: { annotations: { [OPT_IN]: 'true' } } },
      'application/merge-patch+json',
      { operation: 'UPDATE', oldObject: OPTED_IN },
    ],
    [
      'an ephemeral container',
      'PATCH',
      `${pods}/there/ephemeralcontainers`,
      { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } },
      'application/strategic-merge-patch+json',
      { operation: 'UPDATE', subResource: 'ephemeralcontainers' },
    ],
    [
      'a binding to a node',
      'POST',
      `${pods}/there/binding`,
      { metadata: { name: 'there' }, target: { kind: 'Node', name: 'node' } },
      undefined,
      { subResource: 'binding', kind: { group: '', version: 'v1', kind: 'Binding' } },
    ],
    [
      'a Deployment',
      'POST',
      '/apis/apps/v1/namespaces/plain/deployments',
      deployment,
      undefined,
      {
        resource: resource('deployments', 'apps'),
        kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      },
    ],
    ['a deletion', 'DELETE', `${pods}/there`, undefined, undefined, { operation: 'DELETE', object: null, oldObject: OPTED_IN }],
  ])('the webhook leaves alone what is not the creation of a pod: %s', async (_, method, path, body, type, request) => {
    const done = await stage.counting(() => stage.call(method, path, body, type));
    expect(done.result.message).toBe('');
    expect(done).toMatchObject({ asked: 0, decided: {} });
    const direct = await stage.counting(() =>
      stage.ask({ namespace: 'plain', object: OPTED_IN, ...request }),
    );
    expect(direct.decided).toEqual({ 'skipped/not-a-pod-create': 1 });
    expect(leftAlone(direct.result)).toEqual([]);
  });
});

const values = [undefined, 'true', 'false', 'maybe'];
const said = (value: string | undefined) => (value === undefined ? {} : { [OPT_IN]: value });
const spaces = [
  ['plain', undefined],
  ['opted-in', 'true'],
  ['opted-out', 'false'],
  ['mistyped', 'treu'],
] as const;
const rows = spaces.flatMap(([namespace, its]) =>
  values.flatMap((label) =>
    values.map((annotation): [string, string | undefined, string | undefined, string | undefined] => [
      namespace,
      its,
      label,
      annotation,
    ]),
  ),
);

test.each(rows)(
  'an opt-in by label goes first, and of the pod: namespace %s (%s), label %s, annotation %s',
  async (namespace, its, label, annotation) => {
    const pod = appPod({ labels: said(label), annotations: said(annotation) });
    const decision = decide(decideInput(pod, { namespaceLabels: said(its) }));
    const key = decision.inject ? 'injected/' : `skipped/${decision.reason}`;
    const pods = label ?? annotation;
    const isAsked = pods === 'true' || (its === 'true' && pods !== 'false');
    const created = await stage.counting(() => stage.create(namespace, pod));
    expect(created).toMatchObject({ asked: isAsked ? 1 : 0, decided: isAsked ? { [key]: 1 } : {} });
    expect(namesOf(specOf(created.result.pod).containers)).toEqual(
      decision.inject ? ['app', 'envoy'] : ['app'],
    );
    // Nothing that is to be injected is passed over by the selectors.
    expect(decision.inject && !isAsked).toBe(false);
    expect((await stage.counting(() => stage.ask({ namespace, object: pod }))).decided).toEqual({ [key]: 1 });
  },
);

describe('onConflict: deny', () => {
  beforeAll(() => stage.adopt({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }));
  afterAll(() => stage.adopt({ config: DEMO_TEMPLATE }));

  test.each<[string, JsonObject]>([
    ['conflict', appPod({}, { volumes: [{ name: 'envoy-conf', emptyDir: {} }] })],
    ['invalid-override', appPod({ annotations: { [`${OPT_IN}-cpu-limit`]: 'much' } })],
  ])('a pod is refused for the reason %s if onConflict is deny', async (reason, pod) => {
    const created = await stage.counting(() => stage.create('opted-in', pod));
    expect(created.decided).toEqual({ [`denied/${reason}`]: 1 });
    expect(created.result.code).toBe(403);
    expect(created.result.message).toMatch(
      new RegExp(
        `namespace\\.envoy\\.initializer\\.kubernetes\\.io.*refused \\(onConflict: deny\\): ${reason}: `,
      ),
    );
  });
});

test('every reason to skip a pod has a test', () => {
  const apart = ['not-a-pod-create', 'no-template', 'already-injected', 'proxy-user'];
  const tabled = Object.entries(REASON_CASES).flatMap(([reason, cases]) =>
    cases.length > 0 ? [reason] : [],
  );
  expect([...tabled, ...apart].sort()).toEqual(RULES.map(({ reason }) => reason).sort());
});
