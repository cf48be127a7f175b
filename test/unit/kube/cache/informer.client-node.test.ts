import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type {
  Informer as ClientNodeInformer,
  KubernetesObject,
  ObjectCache,
  V1ConfigMap,
} from '@kubernetes/client-node';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Informer } from '../../../../src/kube/cache/informer.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import type { NetworkControllerOptions } from '../../../../src/networks/setup.ts';
import { added, configMap, deleted, listOf, modified } from '../../../support/kube/scripted-objects.ts';
import type { ScriptedRequest } from '../../../support/kube/scripted-server.ts';
import { until } from '../../../support/time/until.ts';
import { newInformer, recorded, type Setup } from './informer-setup.ts';

let setup: Setup;
beforeEach(async () => {
  setup = await newInformer();
});
afterEach(async () => {
  await setup.informer.stop();
  await setup.close();
});

const [a, b] = [configMap('a', 1), configMap('b', 2)];
const VERBS = ['add', 'update', 'delete'] as const;

/** The calls of callbacks of the three verbs, in order. */
function recordCalls(): string[] {
  const heard: string[] = [];
  for (const verb of VERBS) setup.informer.on(verb, ({ metadata }) => heard.push(`${verb} ${metadata.name}`));
  return heard;
}

/** Starts the informer with this list; resolves with its watch. */
async function startWith(...items: readonly object[]): Promise<ScriptedRequest> {
  const starting = setup.informer.start();
  (await setup.server.next()).answer(listOf(10, items));
  await starting;
  return setup.server.next();
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await eventLoopTurn();
}

test("is client-node's informer and its cache", () => {
  const typed = (informer: Informer<V1ConfigMap & KubeObject>) =>
    informer satisfies ClientNodeInformer<V1ConfigMap> & ObjectCache<V1ConfigMap>;
  expect(typed).toBeInstanceOf(Function);
});

test('is the cache of the Network controller', () => {
  const typed = ({ networks }: NetworkControllerOptions) =>
    networks satisfies ObjectCache<Network> & Pick<ClientNodeInformer<KubernetesObject>, 'start' | 'stop'>;
  expect(typed).toBeInstanceOf(Function);
});

describe('callbacks', () => {
  test('of change are called for all three', async () => {
    const heard: string[] = [];
    const callback = ({ metadata }: KubeObject) => void heard.push(`${metadata.resourceVersion}`);
    setup.informer.on('change', callback);
    const watch = await startWith(a);
    watch.stream(modified(configMap('a', 11)), deleted(configMap('a', 12)));
    await until(() => heard.length === 3);
    expect(heard).toEqual(['1', '11', '12']);
    setup.informer.off('update', callback);
    watch.stream(added(b), modified(configMap('b', 13)));
    await until(() => setup.informer.get('b', 'shop')?.metadata.resourceVersion === '13');
    await settled();
    expect(heard.slice(3)).toEqual(['2']);
  });

  test('of connect and error are called for every watch and every failure, and the informer continues', async () => {
    const heard: string[] = [];
    setup.informer.on('connect', () => heard.push('connect'));
    setup.informer.on('error', (error) => heard.push(error instanceof Error ? error.message : `${error}`));
    const starting = setup.informer.start();
    (await setup.server.next()).fail(500);
    await setup.clock.pass(800);
    (await setup.server.next()).answer(listOf(10, [a]));
    await starting;
    (await setup.server.next()).stream(added(b)).cut();
    await until(() => heard.length === 3);
    expect(heard).toEqual([expect.stringContaining('500'), 'connect', expect.stringContaining('watch')]);
    await setup.clock.pass(1600);
    await setup.server.next();
    await until(() => heard.length === 4);
    expect(heard[3]).toBe('connect');
  });

  test('of a verb that does not exist are refused', () => {
    expect(() => setup.informer.on('gone' as 'add', () => undefined)).toThrow(
      'unknown verb gone: expected add',
    );
  });
});

describe('the cache', () => {
  test('returns objects by name and namespace', async () => {
    await startWith(a, configMap('a', 3, { namespace: 'other', uid: 'x' }));
    const { informer } = setup;
    expect(informer.get('a', 'other')?.metadata.uid).toBe('x');
    expect([informer.get('a'), informer.get('b', 'shop')]).toEqual([undefined, undefined]);
    expect(informer.list().length).toBe(2);
    expect(informer.list('shop').map(({ metadata }) => metadata.uid)).toEqual(['a']);
    expect(informer.list('nowhere')).toEqual([]);
  });
});

describe('a stopped informer', () => {
  test('calls no handler, not even for waiting changes, and sends no request', async () => {
    const heard = recordCalls();
    const handler = recorded();
    setup.informer.addEventHandler(handler, { resyncMs: 1000 });
    const watch = await startWith(a);
    watch.stream(added(b));
    await until(() => setup.informer.list().length === 2);
    await setup.informer.stop();
    await setup.clock.advanceAsync(600_000);
    await settled();
    expect([heard, handler.heard]).toEqual([['add a'], ['add a=1 initially']]);
    expect([setup.clock.waits, setup.server.requests]).toEqual([[], 2]);
  });

  test('ends the wait of start', async () => {
    const starting = setup.informer.start();
    const list = await setup.server.next();
    await setup.informer.stop();
    await starting;
    await list.closed;
    expect(setup.informer.hasSynced()).toBe(false);
  });
});
