import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { type Schedule, TermModel } from '../../../support/kube/term-model.ts';

const RUNS = Number(process.env.TERM_SEEDS ?? 60);
jest.setTimeout(60_000 + RUNS * 2_000);

const SPAN_MS = 90_000;
/** Longer than a lease. Two workers do eight such reconciles within the time at the end of the model. */
const LONGEST_WORK_MS = 20_000;

const schedule: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.nat(),
  outages: fc.array(
    fc.record({
      replica: fc.constantFrom(0, 1),
      kind: fc.constantFrom('refuse', 'silence', 'connect'),
      fromMs: fc.integer({ min: 0, max: SPAN_MS }),
      forMs: fc.integer({ min: 500, max: 25_000 }),
    }),
    { maxLength: 6 },
  ),
  changes: fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: SPAN_MS }),
      workMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: LONGEST_WORK_MS })),
      isDeaf: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
});

async function violationsOf(played: Schedule): Promise<readonly string[]> {
  const model = new TermModel(played);
  await model.run();
  return model.violations;
}

test(`the current leader reconciles, and no process writes after its deadline (${RUNS} schedules)`, async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async (played) => {
      expect(await violationsOf(played)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});

test('a leader whose connections hang for 12 s reconciles later changes', async () => {
  const both = [0, 1].map((replica) => ({
    replica,
    kind: 'connect' as const,
    fromMs: 7_000,
    forMs: 12_000,
  }));
  const changes = [8_000, 14_000, 30_000].map((atMs) => ({ atMs, workMs: 100, isDeaf: false }));
  expect(await violationsOf({ seed: 1, outages: both, changes })).toEqual([]);
});

test("a leader's term begins when the previous one's work has ended, even if that ignores its signal", async () => {
  const outages = [{ replica: 0, kind: 'refuse' as const, fromMs: 41, forMs: 8_000 }];
  const changes = [{ atMs: 0, workMs: 12_000, isDeaf: true }];
  expect(await violationsOf({ seed: 0, outages, changes })).toEqual([]);
});
