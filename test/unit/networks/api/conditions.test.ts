import { expect, test } from '@jest/globals';
import { type ConditionUpdate, conditionsOf } from '../../../../src/networks/api/conditions.ts';

const yes: ConditionUpdate = { status: 'True', reason: 'Ready', message: 'fine' };
const no: ConditionUpdate = { status: 'False', reason: 'Overlap', message: 'with another' };
const at = (second: number, generation = 1) => ({ generation, now: `2026-01-01T00:00:0${second}Z` });

test('conditionsOf creates a condition for a first update', () => {
  expect(conditionsOf({ Ready: yes }, undefined, at(1))).toEqual([
    { type: 'Ready', ...yes, lastTransitionTime: '2026-01-01T00:00:01Z', observedGeneration: 1 },
  ]);
});

test('conditionsOf keeps lastTransitionTime while the status stays the same', () => {
  const before = conditionsOf({ Ready: no }, undefined, at(1));
  const [after] = conditionsOf({ Ready: { ...no, reason: 'Invalid', message: 'other' } }, before, at(2, 5));
  expect(after).toEqual({
    type: 'Ready',
    status: 'False',
    reason: 'Invalid',
    message: 'other',
    lastTransitionTime: '2026-01-01T00:00:01Z',
    observedGeneration: 5,
  });
});

test('conditionsOf sets lastTransitionTime when the status changes', () => {
  const before = conditionsOf({ Ready: no }, undefined, at(1));
  expect(conditionsOf({ Ready: yes }, before, at(2))[0]?.lastTransitionTime).toBe('2026-01-01T00:00:02Z');
});

test('conditionsOf keeps conditions without an update, and omits those of other writers', () => {
  const accepted = conditionsOf({ Accepted: yes }, undefined, at(1));
  const foreign = { type: 'example.org/Audited', ...yes, lastTransitionTime: '2026-01-01T00:00:00Z' };
  const after = conditionsOf({ Ready: no }, [foreign, ...accepted], at(2));
  expect(after.map(({ type }) => type)).toEqual(['Accepted', 'Ready']);
  expect(after[0]).toEqual(accepted[0]);
});

test('conditionsOf cuts a message to the limit of the CRD', () => {
  const long = conditionsOf({ Ready: { ...no, message: 'x'.repeat(40_000) } }, undefined, at(1));
  expect(long[0]?.message).toHaveLength(32_768);
});
