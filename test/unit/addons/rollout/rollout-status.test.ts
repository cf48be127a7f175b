import { expect, test } from '@jest/globals';
import { exitCodeOf } from '../../../../src/addons/rollout/cli/rollout.ts';
import { type PodState, REASONS } from '../../../../src/addons/rollout/plan/pod.ts';
import { formatStatus, readStatus } from '../../../../src/addons/rollout/rollout-status.ts';

type Said = Omit<PodState, 'pod'>;
const textOf = (states: readonly Said[]) => {
  const pods = states.map((state, i) => ({ ...state, pod: { key: `shop/web-${i}` } }));
  const failing = [{ pod: { key: 'shop/db' }, why: 'ErrImagePull' }];
  return formatStatus({ phase: 'canary', pods, health: { failing } } as never);
};
const refused = (message: string): Said => ({ is: 'refused', why: 'refused', message });

test('the command line reads what a step of a rollout has found out about pods', () => {
  const text = textOf([{ is: 'current' }, refused('frozen'), { is: 'current' }, { is: 'left', why: 'job' }]);
  expect(readStatus(text)).toEqual({
    phase: 'canary',
    groups: [
      { is: 'current', count: 2, pods: ['shop/web-0', 'shop/web-2'] },
      { is: 'refused', why: 'refused', message: 'frozen', count: 1, pods: ['shop/web-1'] },
      { is: 'left', why: 'job', count: 1, pods: ['shop/web-3'] },
    ],
    failing: [{ pod: 'shop/db', why: 'ErrImagePull' }],
  });
  expect([undefined, 'no JSON', '[]', '{"groups": 1}'].map(readStatus)).toEqual(Array(4).fill(undefined));
});

test('the status of a rollout fits into an annotation for any number of pods and reasons, and counts all', () => {
  const states = Array.from({ length: 9_000 }, (_, i) => refused(`${i % 60} ${'"'.repeat(400)}`));
  const text = textOf(states);
  expect(text.length).toBeLessThan(150_000);
  expect(readStatus(text)?.groups.reduce((sum, { count }) => sum + count, 0)).toBe(9_000);
  expect(readStatus(text)?.groups.at(-1)?.message).toBe('other reasons');
});

test('pods with one reason are one group, though the API server names each pod in it', () => {
  const states = Array.from({ length: 100 }, (_, i) => refused(`pods "web-${i}" is forbidden: no`));
  expect(readStatus(textOf(states))?.groups).toMatchObject([
    { message: 'pods "…" is forbidden: no', count: 100 },
  ]);
});

test.each([
  ['done', 'promoted', 0],
  ['halted', 'promoted', 1],
  ['halted', 'halted', 1],
  ['back', 'halted', 1],
] as const)('in phase %s, of a template that is %s, `rollout` exits with %i', (phase, state, code) => {
  const shown = { revisions: { target: { state } }, status: { phase, groups: [], failing: [] } };
  expect(exitCodeOf(shown as never)).toBe(code);
});

test('the message of a pod that waits for its disruption says why, PodDisruptionBudget or not', () => {
  expect(REASONS.budget).not.toContain('PodDisruptionBudget');
});
