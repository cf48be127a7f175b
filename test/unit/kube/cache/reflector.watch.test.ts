import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import {
  added,
  bookmark,
  configMap,
  deleted,
  failed,
  listOf,
  modified,
} from '../../../support/kube/scripted-objects.ts';
import type { ScriptedRequest } from '../../../support/kube/scripted-server.ts';
import { until } from '../../../support/time/until.ts';
import { asked, type Started, startReflector } from './reflector-setup.ts';

let started: Started;
afterEach(() => started.close());

const [a, b] = [configMap('a', 1), configMap('b', 2)];

/** A reflector that has listed `a` at resourceVersion 10, and the request of its first watch. */
async function startWatching(options: Parameters<typeof startReflector>[0] = {}): Promise<ScriptedRequest> {
  started = await startReflector(options);
  (await started.server.next()).answer(listOf(10, [a]));
  return started.server.next();
}

test.each([
  [0, 300],
  [0.5, 450],
  [0.999_999, 600],
])('a watch requests a timeout of 5 to 10 minutes (random %p)', async (random, seconds) => {
  const watch = await startWatching({ random: () => random });
  expect(watch.query.get('timeoutSeconds')).toBe(`${seconds}`);
  expect(watch.query.get('allowWatchBookmarks')).toBe('true');
});

test('a watch delivers changes in order, and each advances the resourceVersion, as bookmarks do', async () => {
  const watch = await startWatching();
  const { reflector, seen } = started;
  const versions: string[] = [];
  for (const event of [
    added(configMap('b', 11)),
    modified(configMap('b', 20)),
    bookmark(30),
    deleted(configMap('b', 40)),
  ]) {
    const before = reflector.lastSyncResourceVersion;
    watch.stream(event);
    await until(() => reflector.lastSyncResourceVersion !== before);
    versions.push(reflector.lastSyncResourceVersion);
  }
  expect(versions).toEqual(['11', '20', '30', '40']);
  expect(seen).toEqual(['replace a=1', 'upsert b=11', 'upsert b=20', 'remove b=40']);
});

test('a watch takes at most 50 events in a turn of the event loop: a burst makes no webhook wait', async () => {
  const watch = await startWatching();
  const { seen } = started;
  const events = Array.from({ length: 1_000 }, (_, i) => modified(configMap('a', 11 + i)));
  watch.stream(...events);
  let most = 0;
  for (let before = seen.length; before < 1 + events.length; before = seen.length) {
    await eventLoopTurn();
    most = Math.max(most, seen.length - before);
  }
  expect(most).toBe(50);
});

test('a watch that the server ended is opened again at once at its last position', async () => {
  const watch = await startWatching();
  watch.stream(bookmark(20)).end();
  const next = await started.server.next();
  expect(asked(next)).toBe('watch resourceVersion=20');
  expect(started.errors).toEqual([]);
});

test('a watch that ends sooner without an event is followed by a list, after a delay', async () => {
  const watch = await startWatching();
  watch.stream().end();
  await started.clock.pass(800);
  expect(asked(await started.server.next())).toBe('list limit=500');
  expect(started.errors).toEqual(['watch: ESHORTWATCH']);
});

test.each<[string, (watch: ScriptedRequest) => void]>([
  ['by HTTP 429', (watch) => watch.fail(429, { reason: 'TooManyRequests' })],
  ['by a 429 in its stream', (watch) => watch.stream(failed(429, { reason: 'TooManyRequests' })).end()],
])('a watch that is put off %s is opened again later, without a list, however often', async (_, answer) => {
  answer(await startWatching());
  const { clock, server } = started;
  for (const delayMs of [800, 1600, 3200, 3200, 3200, 3200, 3200, 3200]) {
    await clock.pass(delayMs);
    const again = await server.next();
    expect(asked(again)).toBe('watch resourceVersion=10');
    answer(again);
  }
  expect(new Set(started.errors)).toEqual(new Set(['watch: 429']));
});

test('a watch that a server refuses is opened again later, without a list, until the server is back', async () => {
  await startWatching();
  const { clock, server, errors } = started;
  const comeBack = await server.refuse();
  for (const delayMs of [800, 1600, 3200, 3200, 3200, 3200, 3200]) await clock.pass(delayMs);
  await until(() => errors.length === 8);
  await comeBack();
  await clock.pass(3200);
  expect(asked(await server.next())).toBe('watch resourceVersion=10');
  expect(errors.slice(1)).toEqual(Array.from({ length: 7 }, () => 'watch: ECONNREFUSED'));
});

test.each([
  [5, 5000],
  [300, 300_000],
  [3600, 600_000],
])(
  'a watch is opened again after Retry-After, without a list, within limits (%p s: %p ms)',
  async (seconds, delayMs) => {
    (await startWatching()).fail(429, {}, { 'retry-after': `${seconds}` });
    await started.clock.pass(delayMs);
    expect(asked(await started.server.next())).toBe('watch resourceVersion=10');
  },
);

test.each<[string, (watch: ScriptedRequest) => void, string]>([
  ['cut before its answer', (watch) => watch.cut(), 'ECONNRESET'],
  ['answered with 500', (watch) => watch.fail(500, { reason: 'InternalError' }), '500'],
  ['answered with 503', (watch) => watch.fail(503), '503'],
  ["answered with a proxy's error page", (watch) => watch.answer('<html>', { status: 502 }), '502'],
  [
    'by an internal error in its stream',
    (watch) => watch.stream(failed(500, { reason: 'InternalError', message: 'etcdserver: no leader' })).end(),
    '500',
  ],
])(
  'a watch that breaks is opened again at its last position, without a list: %s',
  async (_, breakIt, error) => {
    breakIt(await startWatching());
    await started.clock.pass(800);
    expect(asked(await started.server.next())).toBe('watch resourceVersion=10');
    expect(started.errors).toEqual([`watch: ${error}`]);
  },
);

test.each([undefined, 700])(
  'a watch is opened again, without a list, when it had no event for too long (%p ms: default 150 s)',
  async (stallMs = 150_000) => {
    const watch = await startWatching(stallMs === 150_000 ? {} : { stallMs });
    const { clock, server, reflector, errors } = started;
    watch.stream();
    await clock.advanceAsync(stallMs - 100);
    watch.stream(bookmark(11));
    await until(() => reflector.lastSyncResourceVersion === '11');
    await clock.advanceAsync(stallMs - 1);
    expect(errors).toEqual([]);
    await clock.advanceAsync(1);
    await watch.closed;
    await clock.pass(800);
    expect(asked(await server.next())).toBe('watch resourceVersion=11');
    expect(errors).toEqual(['watch: ESTALLED']);
  },
);

test('a watch that breaks is opened again five times; then a list follows, which may be answered', async () => {
  let watch = await startWatching();
  const { clock, server } = started;
  for (const delayMs of [800, 1600, 3200, 3200, 3200]) {
    watch.fail(500, { reason: 'InternalError' });
    await clock.pass(delayMs);
    watch = await server.next();
    expect(asked(watch)).toBe('watch resourceVersion=10');
  }
  watch.fail(500, { reason: 'InternalError' });
  await clock.pass(3200);
  expect(asked(await server.next())).toBe('list limit=500');
});

// biome-ignore format: a line for each case
test.each<[string, (watch: ScriptedRequest) => void, string]>([
  ['410', (watch) => watch.fail(410, { reason: 'Expired' }), '410'],
  ['a 410 in its stream', (watch) => watch.stream(failed(410, { reason: 'Expired' })).end(), '410'],
  ['403', (watch) => watch.fail(403, { reason: 'Forbidden' }), '403'],
  ['404', (watch) => watch.fail(404, { reason: 'NotFound' }), '404'],
  ['an object that the server can no longer read (StoreReadError)', (watch) => watch.stream(failed(500, { reason: 'StoreReadError' })).end(), '500'],
  ['a line that is no JSON', (watch) => watch.stream().write('garbage\n'), 'MalformedLineError'],
  ['a line that was cut and continued', (watch) => watch.stream().write('{"type":"ADD\n{"a":1}\n'), 'MalformedLineError'],
  ['an event of no known type', (watch) => watch.stream({ type: 'MOVED', object: a }), 'TypeError'],
  ['an event without a resourceVersion', (watch) => watch.stream(added({ metadata: { name: 'a' } })), 'TypeError'],
  ['an event without an object', (watch) => watch.stream({ type: 'ADDED', object: { metadata: { resourceVersion: '9' } } }), 'TypeError'],
])('a watch that lost its position is followed by a list: %s', async (_, answer, error) => {
  const watch = await startWatching();
  answer(watch);
  await started.clock.pass(800);
  const list = await started.server.next();
  expect(asked(list)).toBe('list limit=500');
  await watch.closed;
  list.answer(listOf(12, [b]));
  expect(asked(await started.server.next())).toBe('watch resourceVersion=12');
  expect(started.seen).toEqual(['replace a=1', 'replace b=2']);
  expect(started.errors).toEqual([`watch: ${error}`]);
});

/** All requests have ended, and further answers of the server are dropped. */
async function expectStopped(request?: ScriptedRequest): Promise<void> {
  const before = [...started.seen];
  started.stop.abort();
  await started.running;
  await request?.closed;
  expect(started.clock.waits).toEqual([]);
  expect([started.seen, started.errors.filter((error) => error.includes('Abort'))]).toEqual([before, []]);
}

test('a reflector stops before its watch was answered', async () => {
  await expectStopped(await startWatching());
});

test('a reflector stops while it watches', async () => {
  const watch = await startWatching();
  watch.stream(added(b));
  await until(() => started.seen.length === 2);
  await expectStopped(watch);
});

test('a reflector that the handler of an event stops delivers no more events of the same chunk', async () => {
  const watch = await startWatching({
    read: (value, key) => {
      if (key === 'shop/stop') started.stop.abort();
      return value;
    },
  });
  watch.stream(added(b), added(configMap('stop', 11)), added(configMap('c', 12)));
  await started.running;
  expect(started.seen).toEqual(['replace a=1', 'upsert b=2', 'upsert stop=11']);
  await expectStopped(watch);
});
