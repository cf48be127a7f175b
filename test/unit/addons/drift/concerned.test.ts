import { expect, test } from '@jest/globals';
import { Drift } from '../../../../src/addons/drift/drift.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { formatStatus } from '../../../../src/injection/status.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { classify } from '../../../../src/injection/webhook/classify.ts';
import { POD_INDEXERS } from '../../../../src/injection/webhook/pod-cache.ts';
import { type KubeObject, keyOf } from '../../../../src/kube/api/object.ts';
import { templateSet, withMisfit } from '../../../support/injection/demo.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';

const keys = keysFor();
const options = { keys, requireAnnotation: false, operatorNamespace: 'envoy-initializer' };
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
  const drift = new Drift({
    client: { get: () => Promise.reject(new Error('no request is expected')) },
    pods: pods.lister,
    namespaceSettings,
    basis: () => ({ options, state: { set } }),
    onFinding: () => undefined,
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
  /** The keys of pods that these templates concern, and those whose class they change. */
  const change = (to: TemplateSet) => {
    const before = classes();
    set = to;
    const concerned = drift.concerned().map(keyOf);
    const after = classes();
    return {
      concerned,
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
  const { concerned, changed } = setUp().change(to);
  expect(concerned).toHaveLength(count);
  expect(concerned).toEqual(expect.arrayContaining(changed));
});

test('a template that fits other pods now is a change', () => {
  const { change } = setUp();
  expect(change(withMisfit(templateSet(ONE))).concerned).toHaveLength(6);
});
