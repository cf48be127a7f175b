import { afterEach, describe, expect, test } from '@jest/globals';
import {
  added,
  bookmark,
  configMap,
  deleted,
  failed,
  initialEventsEnd,
  listOf,
  modified,
} from '../../../support/kube/scripted-objects.ts';
import type { ScriptedRequest } from '../../../support/kube/scripted-server.ts';
import { until } from '../../../support/time/until.ts';
import { asked, type Started, startReflector } from './reflector-setup.ts';

let started: Started;
afterEach(() => started.close());

const [a, b] = [configMap('a', 1), configMap('b', 2)];
const streamed = (from = '') =>
  `watch ${from && `resourceVersion=${from} `}sendInitialEvents=true resourceVersionMatch=NotOlderThan`;

describe('the first state as a stream', () => {
  test('is used when it is complete, and the same watch continues', async () => {
    started = await startReflector({ watchList: true });
    const { server, seen, reflector, errors } = started;
    const watch = await server.next();
    expect(asked(watch)).toBe(streamed());
    watch.stream(added(b), added(a));
    await until(() => server.requests === 1);
    expect([seen, reflector.lastSyncResourceVersion]).toEqual([[], '']);
    watch.stream(initialEventsEnd(10), modified(configMap('a', 11)));
    await until(() => seen.length === 2);
    expect(seen).toEqual(['replace b=2 a=1', 'upsert a=11']);
    expect([reflector.lastSyncResourceVersion, server.requests, errors]).toEqual(['11', 1, []]);
    watch.end();
    expect(asked(await server.next())).toBe('watch resourceVersion=11');
  });

  test('includes the changes before its end', async () => {
    started = await startReflector({ watchList: true });
    const watch = await started.server.next();
    watch.stream(
      added(a),
      added(b),
      modified(configMap('a', 3)),
      deleted(configMap('b', 4)),
      initialEventsEnd(10),
    );
    await until(() => started.seen.length === 1);
    expect(started.seen).toEqual(['replace a=3']);
  });

  test('is followed by another stream, no older than the last seen state, when a new state is needed', async () => {
    started = await startReflector({ watchList: true });
    const { server, clock, seen } = started;
    const watch = await server.next();
    watch.stream(added(a), initialEventsEnd(10), failed(410, { reason: 'Expired' })).end();
    await clock.pass(800);
    const again = await server.next();
    expect(asked(again)).toBe(streamed('10'));
    again.stream(added(b), initialEventsEnd(20));
    await until(() => seen.length === 2);
    expect(seen).toEqual(['replace a=1', 'replace b=2']);
  });

  test.each<[string, (watch: ScriptedRequest) => void]>([
    ['was cut', (watch) => watch.stream(added(a)).cut()],
    ['ended too soon', (watch) => watch.stream(added(a)).end()],
    ['was garbled', (watch) => watch.stream(added(a)).write('garbage\n')],
    ['failed', (watch) => watch.fail(500)],
    ['is of a server that knows no such thing', (watch) => watch.stream(added(a), bookmark(10))],
  ])('that %s is followed by a list at once', async (_, answer) => {
    started = await startReflector({ watchList: true });
    const { server, seen } = started;
    const watch = await server.next();
    answer(watch);
    const list = await server.next();
    expect(asked(list)).toBe('list limit=500');
    await watch.closed;
    list.answer(listOf(10, [b]));
    const next = await server.next();
    expect(asked(next)).toBe('watch resourceVersion=10');
    expect(seen).toEqual(['replace b=2']);
    // The next state is requested as a stream again.
    next.fail(410);
    await started.clock.pass(800);
    expect(asked(await server.next())).toBe(streamed('10'));
  });

  test('is not requested for ten minutes if the server has the feature turned off', async () => {
    started = await startReflector({ watchList: true });
    const { server, clock, errors } = started;
    (await server.next()).fail(422, { reason: 'Invalid', message: 'sendInitialEvents: Forbidden' });
    (await server.next()).answer(listOf(10, []));
    // A server of Kubernetes 1.31 has it turned off: that is no failure.
    expect(errors).toEqual([]);
    (await server.next()).fail(410);
    await clock.pass(800);
    const list = await server.next();
    expect(asked(list)).toBe('list limit=500');
    list.fail(429, {}, { 'retry-after': '600' });
    await clock.pass(600_000);
    expect(asked(await server.next())).toBe(streamed('10'));
  });

  test('that is put off is retried later, without a list', async () => {
    started = await startReflector({ watchList: true });
    const { server, clock, errors } = started;
    (await server.next()).fail(429, {}, { 'retry-after': '2' });
    await clock.pass(2000);
    expect(asked(await server.next())).toBe(streamed());
    expect(errors).toEqual(['list: 429']);
  });

  test('of a resourceVersion that the server does not have becomes a list of the newest state', async () => {
    started = await startReflector({ watchList: true });
    const { server, clock } = started;
    (await server.next()).stream(initialEventsEnd(10), failed(410)).end();
    await clock.pass(800);
    (await server.next()).fail(410, { reason: 'Expired' });
    expect(asked(await server.next())).toBe('list limit=500');
  });
});
