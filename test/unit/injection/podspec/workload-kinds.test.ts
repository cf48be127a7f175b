import { expect, test } from '@jest/globals';
import { WORKLOAD_KINDS } from '../../../../src/injection/podspec/workload-kinds.ts';

test('kinds that commands look up have a plural', () => {
  const looked = WORKLOAD_KINDS.filter(({ shortNames }) => shortNames !== undefined);
  expect(looked.filter(({ plural }) => plural === undefined)).toEqual([]);
  expect(looked.length).toBeGreaterThan(5);
});

test('kinds do not share names', () => {
  const names = WORKLOAD_KINDS.flatMap(({ kind, plural, shortNames = [] }) => {
    return [kind.toLowerCase(), plural, ...shortNames].filter((name) => name !== undefined);
  });
  expect(new Set(names).size).toBe(names.length);
});
