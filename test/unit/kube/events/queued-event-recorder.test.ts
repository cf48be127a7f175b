import { expect, test } from '@jest/globals';

import { apiErrorFrom, TransportError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { EventDetails } from '../../../../src/kube/events/events.ts';
import { QueuedEventRecorder } from '../../../../src/kube/events/queued-event-recorder.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeEvents, refusal } from '../../../support/kube/fake-events.ts';
import { hang } from '../../../support/kube/fake-leases.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const MINUTE = 60_000;
const details: EventDetails = {
  type: 'Warning',
  reason: 'Conflict',
  action: 'Inject',
  note: 'two of one name',
};
const cart = pod('cart');
const cut = () => {
  throw new TransportError('cut', 'ECONNRESET', undefined);
};

function pod(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name, uid: `uid-of-${name}` } };
}

function setUp() {
  const clock = new FakeClock();
  const events = new FakeEvents();
  const { log, lines } = capturedLog();
  const drops: string[] = [];
  const recorder = new QueuedEventRecorder({
    client: events.client,
    clock,
    wallClock: () => new Date(Date.UTC(2026, 0, 1) + clock.now()),
    random: () => 0,
    source: { controller: 'envoy-initializer', instance: 'pod-0' },
    log,
    metrics: { dropped: (reason) => drops.push(reason) },
  });
  const controller = new AbortController();
  const run = () => recorder.run(controller.signal);
  return { clock, events, recorder, run, stop: () => controller.abort(), lines, drops };
}

type Setup = ReturnType<typeof setUp>;

/** A running recorder. The end of the test reports its failures. */
function setUpRunning(): Setup & { readonly running: Promise<void> } {
  const setup = setUp();
  return { ...setup, running: setup.run() };
}

/** Reports `times` times, and lets the recorder write after each report. */
async function report({ recorder, clock }: Setup, times: number, regarding = cart): Promise<void> {
  for (let i = 0; i < times; i++) {
    recorder.event(regarding, details);
    await clock.advanceAsync(0);
  }
}

// client-go: TestEventSeriesf, TestEventSeriesWithEventSinkImplRace.

test('a series of Events has a count of two with the second, which patches the first', async () => {
  const setup = setUpRunning();
  await report(setup, 1);
  await setup.clock.advanceAsync(1_234);
  await report(setup, 1);

  expect(setup.events.verbs).toEqual(['create', 'patch 2']);
  expect(setup.events.all).toHaveLength(1);
  expect(setup.events.all[0]).toMatchObject({
    eventTime: '2026-01-01T00:00:00.000000Z',
    series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.234000Z' },
  });
});

test('a series of Events stays one series when an Event comes during the first write', async () => {
  const setup = setUpRunning();
  setup.events.after = (operation) => {
    if (operation.startsWith('create')) setup.recorder.event(cart, details);
  };
  await report(setup, 1);

  expect(setup.events.verbs).toEqual(['create', 'patch 2']);
});

test('a series of Events is written at each power of two, and after half an hour, so that it is kept', async () => {
  const setup = setUpRunning();
  await report(setup, 20);
  for (let minute = 1; minute <= 60; minute++) {
    await setup.clock.advanceAsync(MINUTE);
    if (minute % 29 === 0) await report(setup, 1);
  }
  await report(setup, 1);
  expect(setup.events.verbs).toEqual([
    ...['create', 'patch 2', 'patch 4', 'patch 8', 'patch 16', 'patch 22'],
  ]);
});

// client-go: TestUpdateExpiredEvent.
test('a series whose Event the server has deleted is created again, with its count', async () => {
  const setup = setUpRunning();
  await report(setup, 3);
  setup.events.stored.clear();
  await report(setup, 1);

  expect(setup.events.verbs).toEqual(['create', 'patch 2', 'patch 4', 'create']);
  expect(setup.events.all[0]).toMatchObject({ note: details.note, series: { count: 4 } });
});

// client-go: TestWriteEventError.

test('a write of an Event that fails because it is cut is retried after 10 seconds', async () => {
  const setup = setUpRunning();
  setup.events.before = cut;
  await report(setup, 1);
  setup.events.before = () => {};

  await setup.clock.advanceAsync(9_999);
  expect(setup.events.verbs).toEqual(['create']);
  await setup.clock.advanceAsync(1);
  expect(setup.events.verbs).toEqual(['create', 'create']);
  expect(setup.events.all).toHaveLength(1);
});

test('a write of an Event that fails is dropped after 12 attempts, and the next Event is written', async () => {
  const setup = setUpRunning();
  setup.events.before = (operation) => (operation.includes('cart') ? cut() : undefined);
  await report(setup, 1);
  await report(setup, 1, pod('web'));
  await setup.clock.advanceAsync(109_999);
  expect(setup.events.all).toHaveLength(0);
  await setup.clock.advanceAsync(1);

  expect(setup.events.verbs).toHaveLength(12 + 1);
  expect(setup.events.all).toMatchObject([{ regarding: { name: 'web' } }]);
  expect(setup.drops).toEqual(['unreachable']);
});

test.each([
  ['is forbidden', refusal(403, 'Forbidden'), ['refused']],
  ['is invalid', refusal(422, 'Invalid'), ['refused']],
  [
    'is denied by a webhook that chooses the status',
    apiErrorFrom(503, { message: 'admission webhook "a.b" denied the request' }),
    ['refused'],
  ],
  ['meets the limit of its namespace', refusal(429, 'TooManyRequests'), ['refused']],
  ['is for a namespace that does not exist', refusal(404, 'NotFound'), ['refused']],
  ['is for a namespace that is being deleted', refusal(403, 'Forbidden', ['NamespaceTerminating']), []],
])('a write of an Event that fails because it %s delays no other', async (_, error, drops) => {
  const setup = setUpRunning();
  setup.events.before = (operation) => (operation.includes('cart') ? Promise.reject(error) : undefined);
  await report(setup, 1);
  await report(setup, 1, pod('web'));
  expect(setup.events.all).toMatchObject([{ regarding: { name: 'web' } }]);
  await setup.clock.advanceAsync(60 * MINUTE);

  expect(setup.events.verbs).toEqual(['create', 'create']);
  expect(setup.drops).toEqual(drops);
});

test('a write of an Event that fails after it was written does not create it twice', async () => {
  const setup = setUpRunning();
  setup.events.after = cut;
  await report(setup, 1);
  setup.events.after = () => {};
  await setup.clock.advanceAsync(MINUTE);

  expect(setup.events.verbs).toEqual(['create', 'create']);
  expect(setup.events.all).toHaveLength(1);
  expect(setup.drops).toEqual([]);
});

// client-go: TestLotsOfEvents, TestEventSpamFilter.

test('many Events neither block nor throw without a writer, and 1000 are kept', async () => {
  const setup = setUp();
  for (let i = 0; i < 1_500; i++) setup.recorder.event(pod(`pod-${i}`), details);
  expect(setup.drops).toEqual(Array(500).fill('queue_full'));

  void setup.run();
  await setup.clock.advanceAsync(0);

  expect(setup.events.all).toHaveLength(1_000);
  expect(setup.events.all.at(-1)).toMatchObject({ regarding: { name: 'pod-999' } });
});

test('many Events about one object are 25, and one more every 5 minutes', async () => {
  const setup = setUpRunning();
  const reportNew = async (reason: string) => {
    setup.recorder.event(cart, { ...details, reason });
    await setup.clock.advanceAsync(0);
  };
  for (let i = 0; i < 30; i++) await reportNew(`Reason${i}`);
  expect(setup.events.all).toHaveLength(25);
  expect(setup.drops).toEqual(Array(5).fill('rate_limited'));

  await setup.clock.advanceAsync(5 * MINUTE);
  await reportNew('Late');
  await reportNew('TooMany');
  expect(setup.events.all).toHaveLength(26);
});

test('many Events of one series do not use the budget of their object', async () => {
  const setup = setUpRunning();
  await report(setup, 128);
  setup.recorder.event(cart, { ...details, reason: 'Other' });
  await setup.clock.advanceAsync(0);

  expect(setup.events.all).toMatchObject([{ series: { count: 128 } }, { reason: 'Other' }]);
  expect(setup.drops).toEqual([]);
});

test('an Event of an object without apiVersion and kind is logged, and does not fail the caller', () => {
  const { recorder, lines } = setUp();

  recorder.event({ metadata: { name: 'cart' } }, details);

  expect(lines).toMatchObject([{ msg: 'cannot create an Event', reason: 'Conflict' }]);
});

test('a shutdown writes the counts of open series of Events', async () => {
  const setup = setUpRunning();
  await report(setup, 10);
  setup.stop();
  await setup.running;

  expect(setup.events.verbs.slice(-2)).toEqual(['patch 8', 'patch 10']);
  expect(setup.clock.pendingTimers).toBe(0);
});

// client-go: TestCancelEvent.
test('a shutdown tries Events that wait for a retry at once, a last time', async () => {
  const setup = setUpRunning();
  setup.events.before = cut;
  await report(setup, 1);
  setup.events.before = () => {};
  setup.stop();
  await setup.running;

  expect(setup.events.verbs).toEqual(['create', 'create']);
});

test('a shutdown waits 2 seconds for a server without an answer, and logs the dropped Events', async () => {
  const setup = setUpRunning();
  setup.events.before = (_, signal) => hang(signal);
  for (const name of ['a', 'b', 'c']) setup.recorder.event(pod(name), details);
  setup.stop();
  let ended = false;
  void setup.running.then(() => {
    ended = true;
  });

  await setup.clock.advanceAsync(1_999);
  expect(ended).toBe(false);
  await setup.clock.advanceAsync(1);

  expect(ended).toBe(true);
  expect(setup.lines).toMatchObject([{ msg: 'dropped unwritten Events at shutdown', events: 3 }]);
  expect(setup.clock.pendingTimers).toBe(0);
});
