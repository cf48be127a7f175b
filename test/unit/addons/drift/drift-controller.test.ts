import { expect, test } from '@jest/globals';
import { setUpDriftController } from '../../../../src/addons/drift/drift-controller.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { formatStatus } from '../../../../src/injection/status.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { classify } from '../../../../src/injection/webhook/classify.ts';
import { POD_INDEXERS } from '../../../../src/injection/webhook/pod-cache.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { templateSet, withMisfit } from '../../../support/injection/demo.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';

const keys = keysFor();
const options = { keys, requireAnnotation: false, operatorNamespace: 'envoy-initializer' };
const text = (image: string) => `containers: [{name: envoy, image: ${image}}]`;
const ONE = { config: text('a'), 'config.extra': text('b') };
const SETTINGS = { plain: {}, special: { namespaceTemplates: 'extra' } };

function setUp() {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  const queued: string[] = [];
  let set: TemplateSet = templateSet(ONE);
  const namespaceSettings = (namespace: string) => ({
    namespaceLabels: {},
    ...SETTINGS[namespace as keyof typeof SETTINGS],
  });
  const never = () => Promise.reject(new Error('no request is expected'));
  const controller = setUpDriftController({
    client: { get: never, request: never },
    pods,
    namespaceSettings,
    basis: () => ({ options, state: { set } }),
    queue: { add: (key) => void queued.push(key) },
    repairQueue: { add: () => undefined },
    repair: { evict: false, windowMs: 1, onObstacle: () => undefined },
    events: { event: () => undefined },
    now: () => 0,
  });
  for (const namespace of ['plain', 'special']) {
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
  const classes = () =>
    new Map(
      pods.lister
        .list()
        .map((pod) => [
          `${pod.metadata.namespace}/${pod.metadata.name}`,
          classify(pod, namespaceSettings(pod.metadata.namespace ?? ''), { options, state: { set } }),
        ]),
    );
  /** The keys that are queued when these templates come, and those whose class they change. */
  const change = (to: TemplateSet) => {
    const before = classes();
    set = to;
    queued.length = 0;
    controller.templatesChanged();
    const after = classes();
    return {
      queued: [...queued],
      changed: [...after.keys()].filter((key) => before.get(key) !== after.get(key)),
    };
  };
  change(set);
  return { change, count: pods.lister.size };
}

test.each([
  ['the default template', templateSet({ ...ONE, config: text('c') }), 6],
  ['a further template', templateSet({ ...ONE, 'config.extra': text('c') }), 10],
  ['a new template', templateSet({ ...ONE, 'config.later': text('c') }), 4],
  ['a template less', templateSet({ config: ONE.config }), 10],
  ['the options', templateSet({ ...ONE, options: 'position: first' }), 16],
  ['nothing', templateSet(ONE), 0],
])('after a change of %s, the pods that select it are looked at again', (_, to, count) => {
  const { queued, changed } = setUp().change(to);
  expect(queued).toHaveLength(count);
  expect(queued).toEqual(expect.arrayContaining(changed));
});

test('a template that fits other pods now is a change', () => {
  const { change } = setUp();
  expect(change(withMisfit(templateSet(ONE))).queued).toHaveLength(6);
});

test.each<[string, object, object, string | undefined]>([
  ['one without the sidecar that it asks for', {}, {}, 'stopped'],
  ['one in the network of its node, which gets none', {}, { hostNetwork: true }, undefined],
  ['one that does not ask', { labels: { [keys.optIn]: 'false' } }, {}, undefined],
  ['one of another namespace, whose author names the controller', { namespace: 'other' }, {}, undefined],
])('the repair of all stops after a replacement: %s: %s', async (_, metadata, spec, expected) => {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
  const whole = (uid: string, more = {}) => ({
    metadata: {
      ...{ namespace: 'plain', name: uid, uid, creationTimestamp: new Date(0).toISOString() },
      ...{ ownerReferences: [owner], ...more },
    },
    spec: { containers: [{ name: 'app' }], ...(uid === 'old' ? {} : spec) },
  });
  const controller = setUpDriftController({
    client: {
      get: async (_resource, { name = '' }) => whole(name, name === 'old' ? {} : metadata) as never,
      request: async () => undefined as never,
    },
    pods,
    namespaceSettings: () => ({ namespaceLabels: {} }),
    basis: () => ({ options, state: { set: templateSet(ONE) } }),
    queue: { add: () => undefined },
    repairQueue: { add: () => undefined },
    repair: { evict: true, windowMs: 1, onObstacle: () => undefined },
    events: { event: () => undefined },
    now: () => 0,
  });
  const { signal } = new AbortController();
  pods.set(whole('old'));
  await controller.reconcile('plain/old', signal);
  await controller.repair('plain/old', signal);
  pods.set(whole('new', metadata));
  await controller.reconcile(`${{ namespace: 'plain', ...metadata }.namespace}/new`, signal);
  expect(controller.stopped() && 'stopped').toBe(expected);
});
