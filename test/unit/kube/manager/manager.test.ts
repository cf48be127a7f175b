import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import { SECRETS } from '../../../../src/kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../../../../src/kube/api/object.ts';
import { regardingOf } from '../../../../src/kube/api/resource.ts';
import { waitForSync } from '../../../../src/kube/cache/informer.ts';
import type { Manager } from '../../../../src/kube/manager/manager.ts';
import { aborted } from '../../../../src/kube/util/waits.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { configMap, configMaps, listOf } from '../../../support/kube/scripted-objects.ts';
import { testManager } from '../../../support/kube/test-manager.ts';
import { until } from '../../../support/time/until.ts';

let api: Awaited<ReturnType<typeof startScripted>>;
let manager: Manager;
let lines: ReturnType<typeof capturedLog>['lines'];
let stop: AbortController;
let running: Promise<void> | undefined;
beforeEach(async () => {
  api = await startScripted();
  const { log, lines: captured } = capturedLog();
  lines = captured;
  manager = testManager({ client: api.client, clock: api.clock, log });
  stop = new AbortController();
  running = undefined;
});
afterEach(async () => {
  await end().catch(() => undefined);
  await api.close();
});

async function end(): Promise<void> {
  stop.abort(new Error('the test is over'));
  await api.clock.advanceAsync(0);
  await running;
}

function run(): void {
  running = manager.run(stop.signal);
  running.catch(() => undefined);
}

/** A controller of ConfigMaps. */
function controller(
  name: string,
  reconcile: (key: string, object: KubeObject | undefined, signal: AbortSignal) => Promise<void>,
): void {
  const work = manager.controller(name);
  const objects = manager.informer(configMaps);
  const add = (object: KubeObject) => work.queue.add(keyOf(object));
  objects.addEventHandler({ onAdd: add, onUpdate: (_, object) => add(object), onDelete: add });
  const run = async (key: string, signal: AbortSignal) => {
    await reconcile(key, objects.lister.get(key), signal);
    return {};
  };
  work.reconcile(run, {
    keys: () => objects.lister.list().map(keyOf),
    after: (signal) => waitForSync([objects], signal),
    waiting: (key) => regardingOf(configMaps, objects.lister.get(key)),
  });
}

const messages = () => lines.map(({ msg }) => msg);

test('a controller tells on the object that a write for it is refused, and tries again', async () => {
  controller('write', async (_, __, signal) => {
    const name = { metadata: { namespace: 'shop' } };
    const write = manager.leaderClient.create(SECRETS, name, { signal });
    throw new AggregateError([await write.catch((error: unknown) => error)], 'all failed');
  });
  run();
  (await api.server.next()).answer(listOf(10, [configMap('a', 1)]));
  const next = async (path: string) => {
    for (;;) {
      const request = await api.server.next();
      if (request.path.includes(path)) return request;
    }
  };
  (await next('/secrets')).fail(403, { reason: 'Forbidden', message: 'exceeded quota' });
  const event = await next('/events');
  expect(JSON.parse(event.body)).toMatchObject({
    reason: 'RequestRefused',
    regarding: { kind: 'ConfigMap', namespace: 'shop', name: 'a' },
    note: expect.stringContaining('retrying it: exceeded quota'),
  });
  event.answer({ metadata: {} });
  await api.clock.pass(5);
  expect(await next('/secrets')).toBeDefined();
});

test('a controller of each replica reconciles without the lease, and that of the leader does not', async () => {
  const { log } = capturedLog();
  const { client, clock } = api;
  manager = testManager({ client, clock, log, leaderElection: { namespace: 'shop' } });
  const seen: string[] = [];
  for (const everyReplica of [false, true])
    manager.controller(`${everyReplica}`, 1, { everyReplica }).reconcile(
      async () => {
        seen.push(everyReplica ? 'replica' : 'leader');
        return {};
      },
      { keys: () => ['key'] },
    );
  run();
  // Another replica leads.
  (await api.server.next()).fail(503);
  await until(() => seen.length > 0);
  await clock.advanceAsync(0);
  expect(seen).toEqual(['replica']);
});

test('a part of the Manager that runs periodically runs again after a failure, which is logged', async () => {
  let calls = 0;
  manager.singleton('sweep', async () => Promise.reject(new Error(`no ${++calls}`)), { everyMs: 1_000 });
  run();
  await api.clock.pass(1_000);
  await until(() => calls === 2);
  await end();
  expect(messages().filter((msg) => msg === 'task failed, retrying')).toHaveLength(2);
});

test('a part of the Manager that fails is retried when the API server asks for it', async () => {
  let calls = 0;
  const busy = async () => {
    calls++;
    throw apiErrorFrom(429, {}, '7');
  };
  manager.everyReplica('greeting', busy, { everyMs: 1_000 });
  run();
  await api.clock.pass(7_000);
  await api.clock.pass(7_000);
  await until(() => calls === 3);
});

test('a part of the Manager starts when `after` has resolved', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const started: string[] = [];
  manager.everyReplica('late', async () => started.push('late'), { after: () => promise });
  run();
  await api.clock.advanceAsync(0);
  expect(started).toEqual([]);
  resolve();
  await until(() => started.length === 1);
});

test.each(['everyReplica', 'singleton'] as const)(
  'a part of the Manager (%s) that fails ends the process after all others have ended',
  async (kind) => {
    const ended: string[] = [];
    manager[kind]('broken', async () => Promise.reject(new Error('broken')));
    manager.singleton(
      'leader',
      async (signal) => void ended.push(await aborted(signal).then(() => 'leader')),
    );
    manager.everyReplica('replica', async (signal) => {
      await aborted(signal);
      ended.push('replica');
    });
    run();
    await until(() => messages().includes('shutting down: not ready, draining'));
    await api.clock.advanceAsync(0);
    await expect(running).rejects.toThrow('broken');
    expect(ended.toSorted()).toEqual(['leader', 'replica']);
  },
);

test('the shutdown of the Manager ends the leader first, and then caches and Events', async () => {
  const ended: string[] = [];
  manager.everyReplica('replica', async (signal) => {
    await aborted(signal);
    ended.push('replica');
  });
  manager.singleton('leader', async (signal) => {
    await aborted(signal);
    for (let turn = 0; turn < 10; turn++) await api.clock.advanceAsync(0);
    ended.push('leader');
  });
  run();
  await until(() => messages().includes('listening'));
  await end();
  expect(ended).toEqual(['leader', 'replica']);
  expect(messages().at(-1)).toBe('ended');
  expect(api.clock.pendingTimers).toBe(0);
});
