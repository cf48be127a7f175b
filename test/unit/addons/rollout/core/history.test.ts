import { describe, expect, test } from '@jest/globals';
import {
  revisionsOf,
  type StoredRevision,
  upkeepOf,
} from '../../../../../src/addons/rollout/core/history.ts';
import type { TemplateSet } from '../../../../../src/injection/template/template-set.ts';
import { setOf } from '../../../../support/rollout/rollout-world.ts';

const [ONE, TWO] = [setOf('envoy:1'), setOf('envoy:2')];

function stored(set: TemplateSet, state: StoredRevision['state'], since = 0): StoredRevision {
  const canary = { namespaces: undefined, percent: 0 };
  return { name: set.hash, set, state, since, canary, heldSince: undefined };
}

const upkeep = (adopted: TemplateSet, ...revisions: readonly StoredRevision[]) =>
  upkeepOf(adopted, revisions, true, () => false);

describe('adopted templates', () => {
  test('are promoted without a canary if they are the first', () => {
    expect(upkeep(ONE)).toEqual([{ do: 'promote' }]);
  });

  test('wait for their canary, and for the breaker', () => {
    expect(upkeep(TWO, stored(ONE, 'promoted'))).toEqual([]);
    expect(upkeep(TWO, stored(ONE, 'promoted'), stored(TWO, 'canary'))).toEqual([]);
    expect(upkeep(TWO, stored(ONE, 'promoted'), stored(TWO, 'halted'))).toEqual([]);
  });

  test.each(['canary', 'superseded'] as const)(
    'in state %s are promoted if the promoted revision was deleted',
    (state) => {
      expect(upkeep(TWO, stored(TWO, state))).toEqual([{ do: 'promote' }]);
    },
  );

  test('stay halted if the promoted revision was deleted', () => {
    expect(upkeep(TWO, stored(TWO, 'halted'))).toEqual([]);
  });
});

test('halted templates start again once their revision is deleted', () => {
  const [first, halted] = [stored(ONE, 'promoted'), stored(TWO, 'halted', 1)];
  expect(revisionsOf(TWO, [first, halted], false)?.target.state).toBe('halted');
  expect(upkeep(TWO, first)).toEqual([]);
  expect(revisionsOf(TWO, [first], false)).toMatchObject({
    target: { state: 'new' },
    promoted: { set: ONE },
  });
});
