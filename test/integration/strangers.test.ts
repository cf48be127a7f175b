import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { podReview } from '../support/admission-review.ts';
import { HttpsClient } from '../support/https-client.ts';
import { type OperatorFixture, startOperatorFixture } from '../support/operator-fixture.ts';
import { memoryOf } from '../support/process-memory.ts';
import { Strangers } from '../support/strangers.ts';

/** What Node gives itself in a container with the memory limit of deploy/base/deployment.yaml. */
const HEAP_MIB = 256;
const LIMIT_MIB = 512;
/** Three times what the server allows, for a crowded machine; without a bound of its own it is two minutes or for ever. */
const PATIENCE_MS = 30_000;

let starting: Promise<OperatorFixture>;
let fixture: OperatorFixture;
let port: number;
let pid: number;
let strangers: Strangers | undefined;

beforeAll(async () => {
  starting = startOperatorFixture({ nodeFlags: [`--max-old-space-size=${HEAP_MIB}`] });
  fixture = await starting;
  port = Number(new URL(fixture.operator.webhookUrl).port);
  ({ pid } = fixture.operator.process);
});

afterEach(async () => {
  await strangers?.leave();
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

const review = JSON.stringify(podReview());

/** Reviews one after the other while the strangers are there, by turns on a kept connection and on new ones. */
async function reviewsBeside(
  present: Strangers,
): Promise<{ answers: number; failures: string[]; slowestMs: number }> {
  const kept = new HttpsClient(port, fixture.operator.caPem);
  const result = { answers: 0, failures: [] as string[], slowestMs: 0 };
  while (!present.isClosed) {
    const fresh = new HttpsClient(port, fixture.operator.caPem);
    for (const client of [kept, fresh]) {
      const at = performance.now();
      try {
        const { status, body } = await client.call('/inject?timeout=5s', review);
        if (status !== 200) result.failures.push(`${status} ${body}`);
      } catch (error) {
        result.failures.push(String(error));
      }
      result.answers += 1;
      result.slowestMs = Math.max(result.slowestMs, performance.now() - at);
    }
    fresh.disconnect();
  }
  kept.disconnect();
  return result;
}

describe('strangers at the port of the webhook', () => {
  test.each(['slow body', 'declared body', 'chunked body'] as const)(
    '300 with a %s of 6.9 MB: pods are reviewed meanwhile, and memory does not grow with them',
    async (kind) => {
      const before = (await memoryOf(pid)).now;
      strangers = new Strangers({ kind, count: 300, port });
      await strangers.arrived(100);
      const { answers, failures, slowestMs } = await reviewsBeside(strangers);
      const longestMs = await strangers.closed;
      const after = await memoryOf(pid);
      console.log({
        kind,
        before,
        after,
        answers,
        failures: failures.slice(0, 3),
        nfail: failures.length,
        slowestMs,
        longestMs,
      });
      expect(failures).toEqual([]);
      expect(answers).toBeGreaterThan(1);
      expect(longestMs).toBeLessThan(PATIENCE_MS);
      expect(after.most - before).toBeLessThan(128);
      expect(after.most).toBeLessThan(LIMIT_MIB);
    },
  );

  test.each([
    'slow head',
    'slow second head',
    'unread answers',
    'silent TLS',
    'silent TCP',
    'half handshake',
  ] as const)('300 with a %s are closed', async (kind) => {
    strangers = new Strangers({ kind, count: kind === 'unread answers' ? 10 : 300, port });
    await strangers.arrived(10);
    const { failures, slowestMs } = await reviewsBeside(strangers);
    const longestMs = await strangers.closed;
    console.log({
      kind,
      memory: await memoryOf(pid),
      failures: failures.slice(0, 3),
      nfail: failures.length,
      slowestMs,
      longestMs,
    });
    expect(failures).toEqual([]);
    expect(longestMs).toBeLessThan(PATIENCE_MS);
  });
});
