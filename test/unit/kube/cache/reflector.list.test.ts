import { afterEach, expect, test } from '@jest/globals';
import { added, bookmark, configMap, listOf } from '../../../support/kube/scripted-objects.ts';
import { until } from '../../../support/time/until.ts';
import { asked, type Started, startReflector } from './reflector-setup.ts';

let started: Started;
afterEach(() => started.close());

const [a, b] = [configMap('a', 1), configMap('b', 2)];

test('the first list of a reflector returns the newest state, and the watch starts there', async () => {
  started = await startReflector({ labelSelector: 'app=x', fieldSelector: 'metadata.name!=y' });
  const { server, seen, reflector } = started;
  const list = await server.next();
  const selectors = 'labelSelector=app=x fieldSelector=metadata.name!=y';
  expect(list.path).toBe('/api/v1/namespaces/shop/configmaps');
  expect(asked(list)).toBe(`list ${selectors} limit=500`);
  expect(reflector.lastSyncResourceVersion).toBe('');
  list.answer(listOf(10, [a, b]));
  expect(asked(await server.next())).toBe(`watch ${selectors} resourceVersion=10`);
  expect(seen).toEqual(['replace a=1 b=2']);
  expect(reflector.lastSyncResourceVersion).toBe('10');
});

test('the first list of a reflector that fails is retried with growing delays until it succeeds', async () => {
  started = await startReflector();
  const { server, clock, errors, seen } = started;
  for (const delayMs of [800, 1600, 3200]) {
    (await server.next()).fail(500);
    await clock.pass(delayMs);
  }
  (await server.next()).answer(listOf(10, [a]));
  await server.next();
  expect(errors).toEqual(['list: 500', 'list: 500', 'list: 500']);
  expect(seen).toEqual(['replace a=1']);
});

test.each([
  ['no list', { kind: 'ConfigMap' }],
  ['items that are no objects', listOf(10, [{ name: 'a' }])],
  ['no JSON', '<html>'],
])(
  'the first list of a reflector that is answered with %s is retried like any failure',
  async (_, answer) => {
    started = await startReflector();
    const { server, clock, seen } = started;
    (await server.next()).answer(answer);
    await clock.pass(800);
    (await server.next()).answer(listOf(10, [a]));
    await server.next();
    expect(seen).toEqual(['replace a=1']);
  },
);

test.each([undefined, 500])(
  'the first list of a reflector that never ends times out (after %p ms: default 90 s)',
  async (listTimeoutMs) => {
    started = await startReflector(listTimeoutMs === undefined ? {} : { listTimeoutMs });
    const { server, clock, errors } = started;
    const hung = await server.next();
    hung.stream().write('{"items":[');
    await clock.pass(listTimeoutMs ?? 90_000);
    await hung.closed;
    await clock.pass(800);
    await server.next();
    expect(errors).toEqual(['list: ETIMEDOUT']);
  },
);

test('a list of a reflector in pages is read completely, each page by the token of the previous one', async () => {
  started = await startReflector({ pageSize: 2 });
  const { server, seen } = started;
  const first = await server.next();
  expect(asked(first)).toBe('list limit=2');
  first.answer(listOf(10, [a, b], 'C1'));
  const second = await server.next();
  expect(asked(second)).toBe('list continue=C1 limit=2');
  second.answer(listOf(10, [configMap('c', 3), configMap('d', 4)], 'C2'));
  const third = await server.next();
  expect(asked(third)).toBe('list continue=C2 limit=2');
  third.answer(listOf(10, [configMap('e', 5)]));
  expect(asked(await server.next())).toBe('watch resourceVersion=10');
  expect(seen).toEqual(['replace a=1 b=2 c=3 d=4 e=5']);
});

test('a list of a reflector whose snapshot expires, or that fails in between, is read from its start', async () => {
  started = await startReflector({ pageSize: 1 });
  const { server, clock, seen } = started;
  for (const [code, delayMs] of [
    [410, 800],
    [500, 1600],
  ] as const) {
    (await server.next()).answer(listOf(10, [a], 'C1'));
    (await server.next()).fail(code);
    await clock.pass(delayMs);
  }
  const again = await server.next();
  expect(asked(again)).toBe('list limit=1');
  again.answer(listOf(11, [b]));
  await server.next();
  expect(seen).toEqual(['replace b=2']);
});

test('a reflector counts lists and events, bookmarks included, as contact, and no failures', async () => {
  const calls: string[] = [];
  const heard = () => calls.filter((line) => line === 'heard').length;
  const metrics = {
    started(resource: string) {
      calls.push(`started ${resource}`);
      return { heard: () => void calls.push('heard'), ended: () => void calls.push('ended') };
    },
  };
  started = await startReflector({ backoff: { firstMs: 10, maxMs: 10 }, metrics });
  const { server, clock, errors, stop, running } = started;
  (await server.next()).fail(503);
  await until(() => errors.length === 1);
  expect(calls).toEqual(['started configmaps']);
  await clock.pass(10);
  (await server.next()).answer(listOf(10, [configMap('a', 1)]));
  const watch = await server.next();
  expect(heard()).toBe(1);
  watch.stream(added(configMap('b', 11)));
  await until(() => heard() === 2);
  watch.stream(bookmark(12));
  await until(() => heard() === 3);
  watch.cut();
  await until(() => errors.length === 2);
  await clock.pass(10);
  (await server.next()).fail(503);
  await until(() => errors.length === 3);
  stop.abort();
  await running;
  expect(calls).toEqual(['started configmaps', 'heard', 'heard', 'heard', 'ended']);
});
