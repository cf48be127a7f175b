import { beforeEach, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { Drift, type Finding } from '../../../../src/addons/drift/drift.ts';
import { setUpDrift } from '../../../../src/addons/drift/setup.ts';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { podCreation } from '../../../../src/injection/podspec/admission-target.ts';
import { formatStatus } from '../../../../src/injection/status.ts';
import type { TemplateSet, TemplateState } from '../../../../src/injection/template/template-set.ts';
import { classify, type DriftBasis } from '../../../../src/injection/webhook/classify.ts';
import { newPodTemplates } from '../../../../src/injection/webhook/new-pod-templates.ts';
import { POD_INDEXERS, podSummary } from '../../../../src/injection/webhook/pod-cache.ts';
import type { TemplateSetup } from '../../../../src/injection/webhook/template-setup.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../../../src/kube/api/object.ts';
import type { Reconcile } from '../../../../src/kube/controller/controller.ts';
import type { Manager } from '../../../../src/kube/manager/manager.ts';
import type { Core } from '../../../../src/operator/core.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, templateSet, withMisfit } from '../../../support/injection/demo.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { refusal } from '../../../support/kube/fake-events.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';

const TEMPLATE = 'containers: [{name: envoy, image: a}]';
const keys = keysFor();
const decideOptions = { keys, requireAnnotation: false, operatorNamespace: 'envoy-initializer' };

test.each<[string, object, object, 0 | 1]>([
  ['one without the sidecar that it asks for', {}, {}, 1],
  ['one in the network of its node, which gets none', {}, { hostNetwork: true }, 0],
  ['one that does not ask', { labels: { [keys.optIn]: 'false' } }, {}, 0],
  ['one of another namespace, whose author names the controller', { namespace: 'other' }, {}, 0],
])('the repair of all stops after a replacement: %s: %s', async (_, metadata, spec, expected) => {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
  const whole = (uid: string, more = {}) => ({
    metadata: {
      ...{ namespace: 'plain', name: uid, uid, creationTimestamp: new Date().toISOString() },
      ...{ ownerReferences: [owner], ...more },
    },
    spec: { containers: [{ name: 'app' }], ...(uid === 'old' ? {} : spec) },
  });
  const { reconcile, registry } = started(pods, (name) => whole(name, name === 'old' ? {} : metadata));
  pods.set(whole('old'));
  await reconcile('drift', 'plain/old');
  await reconcile('repair', 'plain/old');
  pods.set(whole('new', metadata));
  await reconcile('drift', `${{ namespace: 'plain', ...metadata }.namespace}/new`);
  expect(await registry.metrics()).toContain(`envoy_initializer_repair_stopped ${expected}\n`);
});

/** Drift and repair of these pods, of which a request gets what `whole` returns. */
function started(pods: FakeInformer<KubeObject>, whole: (name: string) => KubeObject) {
  const controllers = new Map<string, Reconcile>();
  const registry = new Registry();
  const queued: string[] = [];
  const manager = {
    leaderClient: { get: async (_: unknown, { name = '' }) => whole(name), request: async () => undefined },
    controller: (name: string) => ({
      queue: { add: (key: string) => name === 'drift' && queued.push(key) },
      reconcile: (reconcile: Reconcile) => controllers.set(name, reconcile),
    }),
    events: { event: () => undefined },
    registry,
    log: capturedLog().log,
  } as unknown as Manager;
  const templates = { state: { set: templateSet({ config: TEMPLATE }) } };
  const template = { templates, onAdopted: () => undefined } as unknown as TemplateSetup;
  const newPods = newPodTemplates(template);
  const namespaces = { cached: () => ({ namespaceLabels: {} }), onChanged: () => undefined };
  const core = { template, newPods, namespaces, pods, decideOptions } as unknown as Core;
  setUpDrift(manager, core, { repair: 'evict', repairWindow: 60_000 });
  const { signal } = new AbortController();
  const reconcile = (name: string, key: string) => controllers.get(name)?.(key, signal);
  return { reconcile, registry, newPods, queued };
}

test('a pod is judged by the templates that it would get now, which may be others than the newest', async () => {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  const metadata = { namespace: 'plain', name: 'a', uid: 'a' };
  const spec = { containers: [{ name: 'taken' }] };
  const { reconcile, registry, newPods, queued } = started(pods, () => ({ metadata, ...{ spec } }));
  const listeners: (() => void)[] = [];
  let state: TemplateState = { set: templateSet({ config: TEMPLATE.replace('envoy', 'taken') }) };
  newPods.chooseBy({
    forPod: () => state,
    forPolicies: () => ({ state, canary: undefined }),
    forecast: () => undefined,
    onChanged: (listener) => void listeners.push(listener),
  });
  pods.set({ metadata });
  const judged = async () => {
    for (const listener of listeners) listener();
    const keys = queued.splice(0);
    for (const key of keys) await reconcile('drift', key);
    return { keys, missed: (await registry.metrics()).includes('kind="missed"} 1') };
  };
  expect(await judged()).toEqual({ keys: ['plain/a', 'plain/a'], missed: false });
  expect(await judged()).toEqual({ keys: [], missed: false });
  state = { set: templateSet({ config: TEMPLATE }) };
  expect(await judged()).toEqual({ keys: ['plain/a'], missed: true });
});

const options = { keys, requireAnnotation: true, operatorNamespace: 'envoy-initializer' };
const summary = podSummary(keys);

function pod(name: string, metadata: object = {}, spec: object = {}): KubeObject & JsonObject {
  return {
    metadata: { name, namespace: 'web', uid: `uid-${name}`, ...metadata },
    spec: { containers: [{ name: 'app', image: 'app' }], ...spec },
  };
}

function injected(plain: KubeObject & JsonObject, set: TemplateSet): KubeObject & JsonObject {
  const metadata = { name: plain.metadata.name, namespace: 'web', uid: 'a', labels: { [OPT_IN]: 'true' } };
  const subject = { request: podCreation('web'), namespaceLabels: {}, options, state: { set } };
  const result = inject({ ...subject, pod: { ...plain, metadata } });
  if (result.outcome !== 'injected') throw new Error('the pod of the test takes no sidecar');
  return result.pod as KubeObject & JsonObject;
}

describe('Drift', () => {
  const pods = new Map<ObjectKey, KubeObject & JsonObject>();
  const got: string[] = [];
  const reported: string[] = [];
  let set: TemplateSet;
  let drift: Drift;

  beforeEach(() => {
    pods.clear();
    for (const texts of [got, reported]) texts.length = 0;
    set = templateSet();
    drift = new Drift({
      client: {
        async get(resource, { namespace, name }) {
          got.push(name);
          const found = pods.get(`${namespace}/${name}`);
          if (!found) throw refusal(404, 'NotFound');
          return resource.decode(found);
        },
      },
      pods: {
        list: () => [...pods.values()].map(summary),
        get: (key) => (pods.has(key) ? summary(pods.get(key) as KubeObject) : undefined),
      },
      namespaceSettings: () => ({ namespaceLabels: { [OPT_IN]: 'true' } }),
      basis: { options, templates: () => ({ set }) },
      chosen: () => ({ sets: [set], canary: undefined }),
      onFinding: ({ kind, pod: found }: Finding) => reported.push(`${kind} ${found.metadata.name}`),
    });
  });

  async function look(...some: readonly (KubeObject & JsonObject)[]): Promise<readonly string[]> {
    for (const each of some) pods.set(`web/${each.metadata.name}`, each);
    for (const key of pods.keys()) await drift.reconcile(key, new AbortController().signal);
    return drift.findings.map(({ kind, pod: found }) => `${kind} ${found.metadata.name}`);
  }

  test('Drift finds a pod of an opted-in namespace without its sidecar, and reports it once', async () => {
    expect(await look(pod('a'))).toEqual(['missed a']);
    await look();
    expect(reported).toEqual(['missed a']);
  });

  test('Drift finds a stale pod after the template has changed', async () => {
    await look(injected(pod('a'), set));
    set = templateSet({ config: DEMO_TEMPLATE.replace('concurrency 4', 'concurrency 2') });
    expect(await look()).toEqual(['stale a']);
  });

  test.each<[string, KubeObject & JsonObject]>([
    ['opts out', pod('a', { labels: { [OPT_IN]: 'false' } })],
    ['is being deleted', pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('Drift ignores a pod that %s, without reading it', async (_, found) => {
    expect(await look(found)).toEqual([]);
    expect(got).toEqual([]);
  });

  test('Drift reads the whole pod once if metadata cannot show that it needs no sidecar, until a reset', async () => {
    expect(await look(pod('a', {}, { hostNetwork: true }))).toEqual([]);
    drift.reset(['web/another']);
    await look();
    expect(got).toEqual(['a']);
    drift.reset(['web/a']);
    await look();
    expect(got).toEqual(['a', 'a']);
  });

  test('Drift reports the same pods again in the next term, and none before', async () => {
    await look(pod('a'), pod('b', {}, { hostNetwork: true }));
    drift.forget();
    expect(drift.findings).toEqual([]);
    await look();
    expect(reported).toEqual(['missed a', 'missed a']);
    expect(got).toEqual(['a', 'b', 'a', 'b']);
  });
});

const text = (image: string) => `containers: [{name: envoy, image: ${image}}]`;
const ONE = { config: text('a'), 'config.extra': text('b') };
const SETTINGS = { plain: {}, special: { namespaceTemplates: 'extra' } };

function setUp() {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  let set: TemplateSet = templateSet(ONE);
  const namespaceSettings = (namespace: string) => ({
    namespaceLabels: {},
    ...SETTINGS[namespace as keyof typeof SETTINGS],
  });
  const basis: DriftBasis = { options: decideOptions, templates: () => ({ set }) };
  const drift = new Drift({
    client: { get: () => Promise.reject(new Error('no request is expected')) },
    pods: pods.lister,
    namespaceSettings,
    basis,
    chosen: () => ({ sets: [set], canary: undefined }),
    onFinding: () => undefined,
  });
  for (const namespace of Object.keys(SETTINGS)) {
    for (const [name, annotations] of Object.entries({
      default: {},
      extra: { [keys.templates]: 'extra' },
      both: { [keys.templates]: 'config, extra' },
      missing: { [keys.templates]: 'later' },
    })) {
      const status = formatStatus({
        templates: [...set.templates.values()].map(({ name, hash }) => ({ name, sha256: hash })),
        ...{ added: {}, overlaid: {}, moved: {}, requests: {} },
      });
      for (const isInjected of [true, false]) {
        const all = { ...annotations, ...(isInjected && { [keys.status]: status }) };
        const uid = `${namespace}-${name}-${isInjected}`;
        pods.set({ metadata: { namespace, name: `${name}-${isInjected}`, uid, annotations: all } });
      }
    }
  }
  /** The keys of pods that these templates concern, and those whose class they change. */
  const change = (to: TemplateSet) => {
    const all = pods.lister.list();
    const classes = () =>
      all.map((pod) => classify(pod, namespaceSettings(pod.metadata.namespace ?? ''), basis));
    const before = classes();
    set = to;
    const [concerned, after] = [drift.concerned().map(keyOf), classes()];
    return { concerned, changed: all.filter((_, i) => before[i] !== after[i]).map(keyOf) };
  };
  change(set);
  return change;
}

test.each([
  ['the default template', templateSet({ ...ONE, config: text('c') }), 6],
  ['a further template', templateSet({ ...ONE, 'config.extra': text('c') }), 10],
  ['a new template', templateSet({ ...ONE, 'config.later': text('c') }), 4],
  ['a template less', templateSet({ config: ONE.config }), 10],
  ['the options', templateSet({ ...ONE, options: 'position: first' }), 16],
  ['the pods that a template fits', withMisfit(templateSet(ONE)), 6],
  ['nothing', templateSet(ONE), 0],
])('drift looks at pods that select a template again after a change of %s', (_, to, count) => {
  const { concerned, changed } = setUp()(to);
  expect(concerned).toHaveLength(count);
  expect(concerned).toEqual(expect.arrayContaining(changed));
});
