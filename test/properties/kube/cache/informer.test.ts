import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type KubeObject, keyOf } from '../../../../src/kube/api/object.ts';
import { Informer } from '../../../../src/kube/cache/informer.ts';
import type { ReflectorSink } from '../../../../src/kube/cache/reflector.ts';
import { SharedValues } from '../../../../src/kube/util/shared-values.ts';
import { configMaps } from '../../../support/kube/scripted-objects.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const NAMESPACES = ['', 'shop', 'bank'];
const LABELS = ['x', 'y', '__proto__'];
const labelsOf = ({ metadata }: KubeObject) => Object.keys(metadata.labels ?? {});

const object = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom('a', 'b', 'c'),
  // An object with the second UID is another one of the same name.
  uid: fc.constantFrom('1', '2'),
  labels: fc.subarray(LABELS),
});
const all = fc.uniqueArray(object, { selector: ({ namespace, name }) => `${namespace}/${name}` });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('upsert' as const), object) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('remove' as const), object) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('replace' as const), all) },
);

/** An informer whose cache the test fills. */
function fed() {
  const stop = new AbortController();
  const informer = new Informer<KubeObject>({
    resource: configMaps,
    clock: new FakeClock(),
    indexers: { label: labelsOf },
    onError: (error) => {
      throw error;
    },
  });
  const running = informer.run(stop.signal);
  const close = async () => {
    stop.abort();
    await running;
  };
  return { informer, sink: informer as ReflectorSink, close };
}

test("an informer's cache and indices, and what handlers hear, are as a plain map, after any changes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { informer, sink, close } = fed();
      const [model, heard] = [new Map<string, KubeObject>(), new Map<string, KubeObject>()];
      informer.addEventHandler({
        onAdd(each) {
          expect(heard.has(keyOf(each))).toBe(false);
          heard.set(keyOf(each), each);
        },
        onUpdate(previous, each) {
          expect(heard.get(keyOf(each))).toBe(previous);
          heard.set(keyOf(each), each);
        },
        onDelete: (each) => expect(heard.delete(keyOf(each))).toBe(true),
      });
      const shared = new SharedValues();
      let version = 0;
      const made = ({ labels, ...metadata }: typeof object extends fc.Arbitrary<infer O> ? O : never) => ({
        metadata: {
          ...metadata,
          resourceVersion: `${++version}`,
          labels: shared.of(Object.fromEntries(labels.map((label) => [label, 'yes']))),
        },
      });
      const bySorted = (objects: Iterable<KubeObject>) =>
        [...objects].sort((a, b) => keyOf(a).localeCompare(keyOf(b)));
      for (const [what, given] of steps) {
        if (what === 'replace') {
          model.clear();
          for (const each of given.map(made)) model.set(keyOf(each), each);
          await sink.replace(new Map([...model].map(([key, each]) => [key, [each]])), 0);
        } else if (what === 'upsert') {
          const each = made(given);
          model.set(keyOf(each), each);
          sink.upsert(each);
        } else {
          const each = made(given);
          model.delete(keyOf(each));
          sink.remove(keyOf(each), each);
        }
        const { lister } = informer;
        expect(lister.size).toBe(model.size);
        for (const [key, each] of model) expect(lister.get(key)).toBe(each);
        expect(bySorted(lister.list())).toEqual(bySorted(model.values()));
        for (const namespace of NAMESPACES) {
          const inIt = [...model.values()].filter(({ metadata }) => metadata.namespace === namespace);
          expect(bySorted(lister.list(namespace))).toEqual(bySorted(inIt));
        }
        for (const label of LABELS) {
          const labelled = [...model.values()].filter((each) => labelsOf(each).includes(label));
          expect(bySorted(lister.byIndex('label', label))).toEqual(bySorted(labelled));
        }
      }
      expect(bySorted(heard.values())).toEqual(bySorted(model.values()));
      await close();
    }),
  );
});

test("the objects of a long list do not wait for an informer's handlers as a whole", async () => {
  const { informer, sink, close } = fed();
  const size = 10_000;
  let [handled, most] = [0, 0];
  informer.addEventHandler({
    onAdd() {
      most = Math.max(most, informer.lister.size - handled++);
    },
  });
  const all = Array.from({ length: size }, (_, nth) => ({
    metadata: { namespace: 'shop', name: `${nth}`, uid: `${nth}`, resourceVersion: '1' },
  }));
  await sink.replace(new Map(all.map((each) => [keyOf(each), [each]])), 0);
  await informer.waitForSync(AbortSignal.timeout(10_000));
  expect(handled).toBe(size);
  expect(most).toBe(1);
  await close();
});
