import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  added,
  type ConfigMap,
  configMap,
  deleted,
  listOf,
  modified,
} from '../../../support/kube/scripted-objects.ts';
import type { ScriptedRequest } from '../../../support/kube/scripted-server.ts';
import { until } from '../../../support/time/until.ts';
import { newInformer, recorded, type Setup } from './informer-setup.ts';

let setup: Setup;
beforeEach(async () => {
  setup = await newInformer();
});
afterEach(() => setup.close());

const [a, b] = [configMap('a', 1), configMap('b', 2)];
const names = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => metadata.name).sort();

/** Starts the informer with this first list; resolves with its watch. */
async function runWith(...items: readonly ConfigMap[]): Promise<ScriptedRequest> {
  void setup.run();
  (await setup.server.next()).answer(listOf(10, items));
  return setup.server.next();
}

/** Makes the informer list again, and answers with these objects; resolves with the watch after it. */
async function relist(watch: ScriptedRequest, ...items: readonly ConfigMap[]): Promise<ScriptedRequest> {
  watch.stream({ type: 'ERROR', object: { code: 410, reason: 'Expired' } }).end();
  await setup.clock.pass(800);
  (await setup.server.next()).answer(listOf(20, items));
  return setup.server.next();
}

/** Waits until all notifications are handed over. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await eventLoopTurn();
}

test('the handlers of an informer get a replaced object as two objects', async () => {
  const handler = recorded();
  setup.informer.addEventHandler(handler);
  const watch = await runWith(a);
  await relist(watch, configMap('a', 15, { uid: 'another' }));
  await until(() => handler.heard.length === 3);
  expect(handler.heard.slice(1)).toEqual(['delete a=1', 'add a=15']);
});

test('the handlers of an informer that throw or reject affect neither later calls nor other handlers', async () => {
  const failing = recorded();
  const fine = recorded();
  setup.informer.addEventHandler({
    ...failing,
    onAdd: (object) => {
      throw new Error(`cannot add ${object.metadata.name}`);
    },
  });
  setup.informer.addEventHandler({
    onAdd: async (object) => {
      throw new Error(`cannot wait for ${object.metadata.name}`);
    },
  });
  setup.informer.addEventHandler(fine);
  const watch = await runWith(a);
  watch.stream(deleted(configMap('a', 11)));
  await until(() => failing.heard.length === 1 && fine.heard.length === 2);
  expect(setup.errors.sort()).toEqual(['handle: cannot add a', 'handle: cannot wait for a']);
  expect(failing.heard).toEqual(['delete a=11']);
  expect(setup.informer.hasSynced()).toBe(true);
});

test('the handlers of an informer that are added late first get the cached objects', async () => {
  const first = recorded();
  setup.informer.addEventHandler(first);
  const watch = await runWith(a);
  await until(() => setup.informer.hasSynced());
  const second = recorded();
  setup.informer.addEventHandler(second);
  watch.stream(added(b));
  await until(() => second.heard.length === 2 && first.heard.length === 2);
  expect(second.heard).toEqual(['add a=1', 'add b=2']);
});

test('the handlers of an informer cannot be added once it is stopped', async () => {
  await runWith(a);
  setup.stop.abort();
  expect(() => setup.informer.addEventHandler(recorded())).toThrow('the informer has stopped');
});

test('a resync of an informer runs at most once a second, and not at all with a period of 0', async () => {
  const [often, never] = [recorded(), recorded()];
  setup.informer.addEventHandler(often, { resyncMs: 1 });
  setup.informer.addEventHandler(never, { resyncMs: 0 });
  await runWith(a);
  await until(() => setup.informer.hasSynced());
  await setup.clock.advanceAsync(999);
  await settled();
  expect(often.heard).toHaveLength(1);
  await setup.clock.advanceAsync(1);
  await settled();
  expect([often.heard.length, never.heard.length]).toEqual([2, 1]);
});

test('a resync of an informer replays the cache to handlers with resyncMs, each at its own period', async () => {
  const [never, every2, every3] = [recorded(), recorded(), recorded()];
  setup.informer.addEventHandler(never);
  setup.informer.addEventHandler(every2, { resyncMs: 2000 });
  setup.informer.addEventHandler(every3, { resyncMs: 3000 });
  await runWith(a, b);
  await until(() => setup.informer.hasSynced());
  for (const { heard } of [never, every2, every3]) heard.length = 0;
  await setup.clock.advanceAsync(2000);
  await settled();
  const replay = ['update a=1 to a=1', 'update b=2 to b=2'];
  expect([never.heard, every2.heard, every3.heard]).toEqual([[], replay, []]);
  await setup.clock.advanceAsync(1000);
  await settled();
  expect([never.heard, every2.heard, every3.heard]).toEqual([[], replay, replay]);
});

test('a resync of an informer never replays a state older than an update', async () => {
  const handler = recorded();
  setup.informer.addEventHandler(handler, { resyncMs: 1000 });
  const watch = await runWith(a);
  await until(() => setup.informer.hasSynced());
  watch.stream(modified(configMap('a', 11)));
  await until(() => setup.informer.lister.get('shop/a')?.metadata.resourceVersion === '11');
  // The update is in the cache, but perhaps not yet handed over.
  setup.clock.advance(1000);
  await settled();
  expect(handler.heard).toEqual(['add a=1', 'update a=1 to a=11', 'update a=11 to a=11']);
});

test('hasSynced is true when the whole first list was handed to every handler', async () => {
  const synced: boolean[] = [];
  setup.informer.addEventHandler({ onAdd: () => synced.push(setup.informer.hasSynced()) });
  setup.informer.addEventHandler(recorded());
  const waited = setup.informer.waitForSync(setup.stop.signal);
  await runWith(a, b);
  await waited;
  expect(synced).toEqual([false, false]);
  expect(setup.informer.hasSynced()).toBe(true);
  await setup.informer.waitForSync(setup.stop.signal);
});

test('hasSynced is not waited for after the signal aborts or the informer stops', async () => {
  const { informer, stop } = setup;
  setup.informer.addEventHandler(recorded());
  await expect(informer.waitForSync(AbortSignal.abort(new Error('aborted')))).rejects.toThrow('aborted');
  const patience = new AbortController();
  const impatient = informer.waitForSync(patience.signal);
  const waiting = informer.waitForSync(new AbortController().signal);
  patience.abort(new Error('enough'));
  await expect(impatient).rejects.toThrow('enough');
  void setup.run();
  stop.abort();
  await expect(waiting).rejects.toThrow('the informer stopped before it synced');
  await expect(informer.waitForSync(new AbortController().signal)).rejects.toThrow('stopped before');
  expect(informer.hasSynced()).toBe(false);
});

test('an error of a cached object keeps its last state, also after a list, until it is deleted', async () => {
  await setup.close();
  setup = await newInformer({
    transform: (object) => {
      if (object.metadata.labels?.broken) throw new Error('broken');
      return object;
    },
  });
  const handler = recorded();
  setup.informer.addEventHandler(handler);
  const watch = await runWith(a);
  const broken = (version: number) => configMap('a', version, { labels: { broken: 'yes' } });
  watch.stream(modified(broken(11)));
  const next = await relist(watch, broken(12), b);
  await until(() => handler.heard.length === 2);
  expect(setup.informer.lister.get('shop/a')).toEqual(a);
  next.stream(deleted(broken(21)));
  await until(() => handler.heard.length === 3);
  expect(handler.heard).toEqual(['add a=1', 'add b=2', 'delete a=1']);
});

test('an index of an informer that fails on one object omits only that object', async () => {
  await setup.close();
  setup = await newInformer({
    indexers: {
      strict: (object) => {
        if (object.metadata.name === 'b') throw new Error('no index');
        return [];
      },
    },
  });
  await runWith(a, b, configMap('c', 3));
  await until(() => setup.informer.hasSynced());
  expect(names(setup.informer.lister.list())).toEqual(['a', 'c']);
  expect(setup.errors).toEqual(['read: an index function failed on shop/b']);
});

test('an informer with an aborted signal sends no request and calls no handler', async () => {
  const handler = recorded();
  setup.informer.addEventHandler(handler, { resyncMs: 1000 });
  setup.stop.abort();
  await setup.run();
  expect([handler.heard, setup.server.requests, setup.clock.waits]).toEqual([[], 0, []]);
});

test('an informer ends with its signal, and leaves no event, timer or request', async () => {
  const handler = recorded();
  setup.informer.addEventHandler(handler, { resyncMs: 1000 });
  const watch = await runWith(a);
  await until(() => handler.heard.length === 1);
  watch.stream(added(b));
  await until(() => setup.informer.lister.size === 2);
  // It is in the cache; the handler gets it in the next turn.
  setup.stop.abort();
  const before = [...handler.heard];
  await setup.clock.advanceAsync(600_000);
  await watch.closed;
  await settled();
  expect([handler.heard, setup.clock.waits, setup.server.requests]).toEqual([before, [], 2]);
});
