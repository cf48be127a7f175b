import { afterEach, expect, test } from '@jest/globals';
import { added, bookmark, configMap, listOf } from '../../../support/kube/scripted-objects.ts';
import { until } from '../../../support/time/until.ts';
import { type Started, startReflector } from './reflector-setup.ts';

let started: Started;
afterEach(() => started.close());

test('lists and events, bookmarks included, count as contact, and failures do not', async () => {
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
