import { expect, test } from '@jest/globals';
import { formatFindings, readFindings } from '../../../../src/addons/rollout/findings.ts';

const pod = (uid: string) => ({ key: `shop/web-${uid}`, uid });
const none = { verdict: undefined, blocked: undefined };
const refused = { ...none, verdict: { how: 'refused', why: 'images are frozen', until: 9 } } as const;
const blocked = (since: number) => ({ ...none, blocked: { since, until: 20_000, why: 'a budget' } });

test('what the leader has found out about pods is what the command line reads', () => {
  const text = formatFindings(
    [
      { ...pod('a'), ...refused },
      { ...pod('b'), ...refused },
      { ...pod('c'), ...blocked(0) },
      { ...pod('d'), ...blocked(9_000) },
      { ...pod('e'), ...none },
    ],
    10_000,
  );
  const verdict = { how: 'refused', why: 'images are frozen' };
  expect([...readFindings(text, 7)]).toEqual([
    ['a', { verdict, blocked: undefined }],
    ['b', { verdict, blocked: undefined }],
    ['c', { verdict: undefined, blocked: { since: 7, until: 10_007, why: 'a budget' } }],
  ]);
  expect([formatFindings([{ ...pod('e'), ...none }], 0), [...readFindings('{"found": 1}', 0)]]).toEqual([
    '',
    [],
  ]);
});

test('however many they are, they fit into an annotation', () => {
  const pods = Array.from({ length: 9_000 }, (_, i) => ({
    ...pod(`00000000-0000-0000-0000-0000${i + 10_000_000}`),
    ...none,
    verdict: { how: 'refused', why: `${i % 60} ${'"'.repeat(400)}` } as const,
  }));
  expect(formatFindings(pods, 0).length).toBeLessThan(150_000);
});

test('all that a policy refuses are told, though the API server names each pod, and also those with yet other reasons', () => {
  const pods = Array.from({ length: 200 }, (_, i) => {
    const why = i < 100 ? `pods "web-${i}" is forbidden: no` : `reason ${i}`;
    return { ...pod(`${i}`), ...none, verdict: { how: 'refused', why } as const };
  });
  const found = [...readFindings(formatFindings(pods, 0), 0).values()].map(({ verdict }) => verdict?.why);
  expect(found).toHaveLength(200);
  expect(new Set(found.slice(0, 100))).toEqual(new Set(['pods "…" is forbidden: no']));
  expect(found.at(-1)).toBe('one of many reasons');
});
