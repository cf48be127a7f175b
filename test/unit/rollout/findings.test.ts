import { expect, test } from '@jest/globals';
import { formatFindings, readFindings } from '../../../src/rollout/findings.ts';

const none = { verdict: undefined, blocked: undefined };
const refused = { ...none, verdict: { how: 'refused', why: 'images are frozen', until: 9 } } as const;
const blocked = (since: number) => ({ ...none, blocked: { since, until: 20_000, why: 'a budget' } });

test('what the leader has found out about pods is what the command line reads', () => {
  const text = formatFindings(
    [
      { uid: 'a', ...refused },
      { uid: 'b', ...refused },
      { uid: 'c', ...blocked(0) },
      { uid: 'd', ...blocked(9_000) },
      { uid: 'e', ...none },
    ],
    10_000,
  );
  const verdict = { how: 'refused', why: 'images are frozen' };
  expect([...readFindings(text, 7)]).toEqual([
    ['a', { verdict, blocked: undefined }],
    ['b', { verdict, blocked: undefined }],
    ['c', { verdict: undefined, blocked: { since: 7, until: 10_007, why: 'a budget' } }],
  ]);
  expect([formatFindings([{ uid: 'e', ...none }], 0), [...readFindings('{"found": 1}', 0)]]).toEqual([
    '',
    [],
  ]);
});

test('however many they are, they fit into an annotation', () => {
  const pods = Array.from({ length: 9_000 }, (_, i) => ({
    uid: `00000000-0000-0000-0000-0000${i + 10_000_000}`,
    ...none,
    verdict: { how: 'refused', why: `${i % 60} ${'"'.repeat(400)}` } as const,
  }));
  expect(formatFindings(pods, 0).length).toBeLessThan(150_000);
});
