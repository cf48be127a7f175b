import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Store } from '../../../../src/kube/cache/store.ts';
import { type ConfigMap, configMap } from '../../../support/kube/scripted-objects.ts';

const byLabel = (object: ConfigMap) => Object.keys(object.metadata.labels ?? {});
const labelled = (name: string, ...labels: readonly string[]) =>
  configMap(name, 1, { labels: Object.fromEntries(labels.map((label) => [label, 'yes'])) });
const names = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => metadata.name).sort();

describe('the store', () => {
  test('is unchanged when an index function throws', () => {
    const broken = (object: ConfigMap): string[] => {
      if (object.metadata.labels?.broken) throw new Error('cannot index');
      return ['all'];
    };
    const store = new Store({ byLabel, broken });
    const good = labelled('a', 'red');
    store.set(good);
    expect(() => store.set(labelled('a', 'blue', 'broken'))).toThrow('cannot index');
    expect(store.get('shop/a')).toBe(good);
    expect([store.byIndex('byLabel', 'red'), store.byIndex('byLabel', 'blue')]).toEqual([[good], []]);
  });

  test('has indices that equal a search of all objects, after any changes', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const labels = fc.array(fc.constantFrom('x', 'y', '__proto__', 'constructor'));
    const step = fc.oneof(
      fc.tuple(fc.constant('set' as const), name, labels),
      fc.tuple(fc.constant('delete' as const), name),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const index = (object: ConfigMap) => object.data?.labels?.split(' ') ?? [];
        const store = new Store({ index });
        for (const [what, name, labels = []] of steps) {
          if (what === 'delete') store.delete(`shop/${name}`);
          else store.set({ ...configMap(name, 1), data: { labels: labels.join(' ') } });
        }
        for (const value of ['x', 'y', '__proto__', 'constructor', '']) {
          const found = store.list().filter((object) => index(object).includes(value));
          expect(names(store.byIndex('index', value))).toEqual(names(found));
        }
      }),
    );
  });
});
