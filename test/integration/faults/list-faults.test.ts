import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import type { Fault } from '../../support/faults/fault.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isWatch } from '../../support/faults/fault-proxy.ts';
import { configMaps } from '../../support/kube/scripted-objects.ts';
import { untilTrue } from '../../support/time/until-true.ts';
import { WatchedClock } from '../../support/time/watched-clock.ts';

/** The first back-off, with a random number of 0. */
const BACKOFF_MS = 800;
/** After this a list that has not come is given up. */
const LIST_MS = 90_000;
/** A read that was cut is sent again after this. */
const RETRY_MS = 100;
const OBJECTS = Array.from({ length: 20 }, (_, i) => `object-${i}`);

let lab: FaultLab;
let proxy: FaultProxy;
let transport: Transport;
let clock: WatchedClock;
let stop: AbortController;
let running: Promise<void>[];
let namespace: string;

beforeAll(async () => {
  lab = await FaultLab.start();
});
afterAll(() => lab?.close());
beforeEach(async () => {
  namespace = await lab.namespace();
  for (const name of OBJECTS) await create(name);
  [clock, stop, running] = [new WatchedClock(), new AbortController(), []];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await transport.close();
  await proxy.close();
});

async function create(name: string): Promise<void> {
  await lab.client.create(configMaps, { metadata: { namespace, name } } as KubeObject);
}

/** An informer behind the proxy, which lists and then watches, and what its handler was told. */
function inform() {
  const informer = new Informer<KubeObject>({
    client: new KubeClient({ transport, clock }),
    resource: configMaps,
    namespace,
    clock,
    random: () => 0,
    watchList: false,
    onError: (error) => errors.push(error),
  });
  const errors: unknown[] = [];
  const deleted: string[] = [];
  informer.addEventHandler({ onDelete: ({ metadata }) => void deleted.push(metadata.name) });
  running.push(informer.run(stop.signal));
  const names = () => informer.lister.list().map(({ metadata }) => metadata.name);
  return { informer, errors, deleted, names };
}

const lists = () => proxy.requests.filter(({ url }) => !isWatch(url)).length;

test.each<[string, Fault, number, object]>([
  ['comes byte by byte', { kind: 'drip', after: 2, everyMs: 1 }, LIST_MS, { code: 'ETIMEDOUT' }],
  ['stands still in the middle', { kind: 'stall', after: 2 }, LIST_MS, { code: 'ETIMEDOUT' }],
  ['ends in the middle', { kind: 'end', after: 2 }, 0, { code: 'EBADBODY' }],
  ['has garbage in the middle', { kind: 'insert', after: 2, text: '"' }, 0, { code: 'EBADBODY' }],
  ['has garbage at the end', { kind: 'insert', after: 1_000, text: '}' }, 0, { code: 'EBADBODY' }],
])(
  'a list that %s takes nothing out of the cache, and is asked for again',
  async (_, fault, waitMs, error) => {
    proxy = await lab.proxy([{ kind: 'none' }, { kind: 'status', code: 410 }, fault]);
    transport = new Transport(proxy.kubeConfig, clock);
    const { informer, errors, deleted, names } = inform();
    await untilTrue(async () => informer.hasSynced());
    // The watch is told that its state is gone: that is what the second list is for.
    await clock.pass(BACKOFF_MS);
    await untilTrue(async () => lists() === 2);
    await create('late');
    if (waitMs > 0) {
      await untilTrue(async () => proxy.afflicted === 1);
      await clock.pass(waitMs);
    }
    await untilTrue(async () => errors.length === 2);
    expect(errors).toMatchObject([{ status: 410 }, error]);
    expect(names()).toEqual(expect.arrayContaining(OBJECTS));
    await clock.pass(BACKOFF_MS * 2);
    await untilTrue(async () => names().includes('late'));
    expect([lists(), deleted, names().length]).toEqual([3, [], OBJECTS.length + 1]);
  },
);

test('a list that is cut in the middle is asked for again at once, and nothing of its half is kept', async () => {
  proxy = await lab.proxy([{ kind: 'cut', after: 2 }]);
  transport = new Transport(proxy.kubeConfig, clock);
  const { informer, errors, names } = inform();
  await clock.pass(RETRY_MS);
  await untilTrue(async () => informer.hasSynced());
  expect([lists(), errors, names().sort()]).toEqual([2, [], [...OBJECTS].sort()]);
});

test('a list that comes byte by byte holds up no other', async () => {
  proxy = await lab.proxy([{ kind: 'drip', after: 2, everyMs: 1 }]);
  transport = new Transport(proxy.kubeConfig, clock);
  const slow = inform();
  await untilTrue(async () => proxy.afflicted === 1);
  const other = inform();
  await untilTrue(async () => other.informer.hasSynced());
  expect([slow.informer.hasSynced(), slow.names(), other.names().length]).toEqual([
    false,
    [],
    OBJECTS.length,
  ]);
});
