import { expect, test } from '@jest/globals';
import { HTTP_ROUTES } from '../../../src/route-delivery/resources.ts';
import { Served } from '../../../src/route-delivery/served.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { refusal } from '../../support/fake-events.ts';

const YES = { resources: [{ name: 'gateways' }, { name: 'httproutes' }] };
const NO = { resources: [{ name: 'gateways' }, null, 'httproutes'] };

/** An API server with these answers, one after the other, the last one for good. */
function setUp(...answers: readonly unknown[]) {
  const [clock, stop, { log, lines }] = [new FakeClock(), new AbortController(), capturedLog()];
  const paths: string[] = [];
  const request = async (_: string, path: string) => {
    const answer = answers[Math.min(paths.length, answers.length - 1)];
    paths.push(path);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const served = new Served({ client: { request }, clock, log, resource: HTTP_ROUTES });
  const messages = () => lines.map(({ level, msg }) => `${level} ${msg}`);
  return { clock, stop, served, paths, messages };
}

test('what is served is known at once, by one question for all who wait', async () => {
  const { stop, served, paths, messages } = setUp(YES);
  expect(served.isServed).toBeUndefined();
  expect(await Promise.all([served.until(stop.signal), served.until(stop.signal)])).toEqual([true, true]);
  expect({ paths, isServed: served.isServed }).toEqual({
    paths: ['/apis/gateway.networking.k8s.io/v1'],
    isServed: true,
  });
  expect(messages()).toEqual([]);
});

test.each([
  ['the group is unknown', refusal(404, 'NotFound')],
  ['the group has no such resource', NO],
  ['the answer is no list of resources', 'none'],
])('it is asked for every 10 s where %s, and said once', async (_, answer) => {
  const { clock, stop, served, paths, messages } = setUp(answer, answer, answer, YES);
  const found = served.until(stop.signal);
  await clock.advanceAsync(0);
  expect(served.isServed).toBe(false);
  await clock.advanceAsync(29_999);
  expect(paths).toHaveLength(3);
  await clock.advanceAsync(1);
  expect(await found).toBe(true);
  expect(messages()).toEqual([
    '30 the API server serves no httproutes (gateway.networking.k8s.io): sidecars follow no routes',
    '30 the API server serves httproutes now',
  ]);
});

test('an API server that cannot say is asked again, and nothing is concluded', async () => {
  const { clock, stop, served, messages } = setUp(refusal(503, 'ServiceUnavailable'), YES);
  const found = served.until(stop.signal);
  await clock.advanceAsync(0);
  expect(served.isServed).toBeUndefined();
  expect(messages()).toEqual(['40 cannot ask the API server whether it serves httproutes, retrying']);
  await clock.advanceAsync(10_000);
  expect(await found).toBe(true);
});

test('the end of the process ends the wait', async () => {
  const { clock, stop, served } = setUp(NO);
  const found = served.until(stop.signal);
  await clock.advanceAsync(0);
  stop.abort();
  expect(await found).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});
