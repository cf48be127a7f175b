import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import type { Fault } from '../../support/faults/fault.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isPlainWatch } from '../../support/faults/fault-proxy.ts';
import { since } from '../../support/jest/since.ts';
import { bookmark, configMaps } from '../../support/kube/scripted-objects.ts';
import { untilTrue } from '../../support/time/until-true.ts';
import { WatchedClock } from '../../support/time/watched-clock.ts';

/** After this much silence a watch is taken for dead. */
const STALL_MS = 150_000;
/** After this a list that has not come is given up. */
const LIST_MS = 90_000;
/** The first back-off, with a random number of 0. */
const BACKOFF_MS = 800;

let lab: FaultLab;
let proxy: FaultProxy;
let namespace: string;
let clock: WatchedClock;
let watched: Watching;

beforeAll(async () => {
  lab = await FaultLab.start();
});
afterAll(() => lab?.close());
beforeEach(async () => {
  namespace = await lab.namespace();
  clock = new WatchedClock();
});
afterEach(async () => {
  await watched.close();
  await proxy.close();
});

interface Watching {
  readonly informer: Informer<KubeObject>;
  readonly errors: unknown[];
  close(): Promise<void>;
}

/** An informer with the bounds that it has unless told otherwise, in a time that only passes when the test says so. */
async function watch(faults: readonly Fault[], watchList: boolean): Promise<void> {
  proxy = await lab.proxy(faults);
  const transport = new Transport(proxy.kubeConfig, clock);
  const stop = new AbortController();
  const errors: unknown[] = [];
  const informer = new Informer<KubeObject>({
    client: new KubeClient({ transport, clock }),
    resource: configMaps,
    namespace,
    clock,
    random: () => 0,
    watchList,
    onError: (error) => errors.push(error),
  });
  const running = informer.run(stop.signal);
  const close = async () => {
    stop.abort();
    await running;
    await transport.close();
  };
  watched = { informer, errors, close };
}

async function create(name: string, where = namespace): Promise<KubeObject> {
  return lab.client.create(configMaps, { metadata: { namespace: where, name } } as KubeObject);
}

const names = () => watched.informer.lister.list().map(({ metadata }) => metadata.name);
const requests = () =>
  proxy.requests.map(({ url }) =>
    isPlainWatch(url) ? 'watch' : url.includes('watch=true') ? 'state' : 'list',
  );

// The first request is a watch only where the API server has WatchList.
since(34).test(
  'a watch on which nothing happens is not opened again in five minutes, and is asked to last as long (since 1.34)',
  async () => {
    const elsewhere = await lab.namespace();
    await watch([], true);
    await untilTrue(async () => watched.informer.hasSynced());
    for (const minute of [1, 2, 3, 4, 5]) {
      // The server sends one each minute, by its own clock: the proxy does it by ours.
      const { metadata } = await create(`minute-${minute}`, elsewhere);
      proxy.say(`${JSON.stringify(bookmark(Number(metadata.resourceVersion)))}\n`);
      await untilTrue(async () => watched.informer.lastSyncResourceVersion === metadata.resourceVersion);
      await clock.advanceAsync(60_000);
    }
    expect(clock.now()).toBe(300_000);
    expect(requests()).toEqual(['state']);
    const { searchParams } = new URL(proxy.requests[0]?.url ?? '', 'http://proxy');
    expect(Number(searchParams.get('timeoutSeconds'))).toBeGreaterThanOrEqual(300);
    expect(searchParams.get('allowWatchBookmarks')).toBe('true');
    // It is the same watch that brings what happens next.
    await create('late');
    await untilTrue(async () => names().includes('late'));
    expect([requests(), watched.errors]).toEqual([['state'], []]);
  },
);

describe('a half-open or very slow connection is noticed within its bound, and healed', () => {
  test.each<[string, Fault]>([
    ['whose answer stands still', { kind: 'stall', after: 0 }],
    ['that is never answered', { kind: 'hang' }],
  ])('of a watch %s', async (_, fault) => {
    await watch([{ kind: 'none' }, fault], false);
    await untilTrue(async () => requests().length === 2 && proxy.afflicted === 1);
    await create('missed');
    await clock.advanceAsync(STALL_MS - 1);
    expect([requests(), watched.errors]).toEqual([['list', 'watch'], []]);
    await clock.advanceAsync(1);
    expect(watched.errors).toMatchObject([{ code: 'ESTALLED' }]);
    await clock.pass(BACKOFF_MS);
    await untilTrue(async () => names().includes('missed'));
    // Where it stood: no list, and the dead connection is not kept.
    expect(requests()).toEqual(['list', 'watch', 'watch']);
    await untilTrue(async () => proxy.afflicted === 0);
  });

  test.each<[string, Fault]>([
    ['whose answer stands still', { kind: 'stall', after: 0 }],
    ['that comes byte by byte', { kind: 'drip', after: 0, everyMs: 1 }],
    ['that is never answered', { kind: 'hang' }],
  ])('of a list %s', async (_, fault) => {
    await create('there');
    await watch([fault], false);
    await untilTrue(async () => proxy.afflicted === 1);
    await clock.advanceAsync(LIST_MS - 1);
    expect([requests(), watched.errors]).toEqual([['list'], []]);
    await clock.advanceAsync(1);
    await clock.pass(BACKOFF_MS);
    await untilTrue(async () => names().includes('there'));
    expect(watched.errors).toMatchObject([{ code: 'ETIMEDOUT' }]);
    await untilTrue(async () => proxy.afflicted === 0);
  });
});
