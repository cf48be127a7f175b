import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SharedInformers } from '../../../../src/kube/cache/shared-informers.ts';
import { capturedLog, type LogLine } from '../../../support/kube/captured-log.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import {
  type ConfigMap,
  configMap,
  configMaps,
  deleted,
  listOf,
  modified,
} from '../../../support/kube/scripted-objects.ts';
import { until } from '../../../support/time/until.ts';
import { recorded } from './informer-setup.ts';

let api: Awaited<ReturnType<typeof startScripted>>;
let informers: SharedInformers;
let lines: LogLine[];
let stop: AbortController;
let running: Promise<void>;
beforeEach(async () => {
  api = await startScripted();
  stop = new AbortController();
  running = Promise.resolve();
  const captured = capturedLog();
  lines = captured.lines;
  informers = new SharedInformers({ client: api.client, clock: api.clock, log: captured.log });
});
afterEach(async () => {
  stop.abort();
  await running;
  await api.close();
});

function run(): void {
  running = informers.run(stop.signal);
}

/** Answers the list with these objects, and resolves with the watch that follows. */
async function listed(...objects: readonly ConfigMap[]) {
  (await api.server.next()).answer(listOf(10, objects));
  return await api.server.next();
}

const red = (name: string, version: number) => configMap(name, version, { labels: { colour: 'red' } });
const isRed = ({ metadata }: ConfigMap) => metadata.labels?.colour === 'red';
const withoutLabels = ({ metadata: { labels: _, ...metadata } }: ConfigMap): ConfigMap => ({ metadata });

test('informers that keep different fields of the same objects have a cache each, and one watch', async () => {
  const [small, reds] = [recorded(), recorded()];
  const stripped = informers.informer(configMaps, { transform: withoutLabels });
  const kept = informers.informer(configMaps, { keep: isRed });
  stripped.addEventHandler(small);
  kept.addEventHandler(reds);
  run();
  const watch = await listed(red('a', 1), configMap('b', 2));
  await Promise.all([stripped.waitForSync(stop.signal), kept.waitForSync(stop.signal)]);
  watch.stream(modified(configMap('a', 11)), modified(red('b', 12)), deleted(red('b', 13)));
  await until(() => small.heard.length === 5 && reds.heard.length === 4);
  expect(small.heard).toEqual([
    'add a=1',
    'add b=2',
    'update a=1 to a=11',
    'update b=2 to b=12',
    'delete b=13',
  ]);
  expect(reds.heard).toEqual(['add a=1', 'delete a=1', 'add b=12', 'delete b=13']);
  expect(stripped.lister.get('shop/a')?.metadata).not.toHaveProperty('labels');
  expect([api.server.requests, lines]).toEqual([2, []]);
});

test('informers that keep different fields of the same objects get the changes that a list shows', async () => {
  const [all, reds] = [recorded(), recorded()];
  informers.informer(configMaps).addEventHandler(all);
  informers.informer(configMaps, { keep: isRed }).addEventHandler(reds);
  run();
  const watch = await listed(red('a', 1), red('b', 2));
  await until(() => all.heard.length === 2);
  watch.stream({ type: 'ERROR', object: { code: 410, reason: 'Expired' } }).end();
  await until(() => lines.length === 1);
  await api.clock.advanceAsync(0);
  await api.clock.advanceAsync(10_000);
  (await api.server.next()).answer(listOf(20, [configMap('b', 12)]));
  await until(() => all.heard.length === 4 && reds.heard.length === 4);
  expect(all.heard.slice(2)).toEqual(['update b=2 to b=12', 'delete a=1']);
  expect(reds.heard.slice(2)).toEqual(['delete b=2', 'delete a=1']);
});

test('informers of the same objects miss only the objects that they cannot read', async () => {
  const strict = informers.informer({
    ...configMaps,
    decode(value) {
      const object = configMaps.decode(value);
      if (!isRed(object)) throw new TypeError('expected red');
      return object;
    },
  });
  const lax = informers.informer(configMaps);
  run();
  const watch = await listed(red('a', 1), configMap('b', 2));
  watch.stream(modified(configMap('a', 11)));
  await until(() => lax.lister.get('shop/a')?.metadata.resourceVersion === '11');
  expect(strict.lister.list()).toEqual([red('a', 1)]);
  expect(lax.lister.size).toBe(2);
  expect(lines).toHaveLength(2);
});

test('informers of the same objects request the metadata alone if that is enough for all', async () => {
  const metadataOnly = { ...configMaps, metadataOnly: true as const };
  informers.informer(metadataOnly);
  informers.informer(metadataOnly, { keep: isRed });
  informers.informer(configMaps, { namespace: 'shop' });
  informers.informer(metadataOnly, { namespace: 'shop', keep: isRed });
  run();
  const accepted = [await api.server.next(), await api.server.next()].map(
    ({ path, headers }) => `${path} ${headers.accept}`,
  );
  expect(accepted.toSorted()).toEqual([
    '/api/v1/configmaps application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    '/api/v1/namespaces/shop/configmaps application/json',
  ]);
});

test('informers that keep the same fields are one, with the indices of both', async () => {
  const byName = ({ metadata }: ConfigMap) => [metadata.name];
  const byVersion = ({ metadata }: ConfigMap) => [metadata.resourceVersion ?? ''];
  const first = informers.informer(configMaps, { keep: isRed, indexers: { byName } });
  const second = informers.informer(configMaps, { keep: isRed, indexers: { byName, byVersion } });
  expect(second).toBe(first);
  run();
  await listed(red('a', 1));
  await first.waitForSync(stop.signal);
  expect([first.lister.byIndex('byName', 'a'), first.lister.byIndex('byVersion', '1')]).toEqual([
    [red('a', 1)],
    [red('a', 1)],
  ]);
});

test.each([{ namespace: 'shop' }, { labelSelector: 'colour=red' }, { fieldSelector: 'metadata.name=a' }])(
  'informers that keep the same fields do not share a different selection: %j',
  (selection) => {
    expect(informers.informer(configMaps, selection)).not.toBe(informers.informer(configMaps));
  },
);

test('a shared watch begins when its condition holds', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  informers.informer(configMaps, { startWhen: () => promise });
  run();
  await api.clock.advanceAsync(0);
  expect(api.server.requests).toBe(0);
  resolve(true);
  expect((await api.server.next()).path).toBe('/api/v1/configmaps');
});

test.each([
  ['first', true],
  ['last', false],
])('a shared watch begins at once if the %s of its callers has no condition', async (_, isFirst) => {
  let isAsked = false;
  const startWhen = async () => {
    isAsked = true;
    return false;
  };
  if (!isFirst) informers.informer(configMaps, { startWhen });
  informers.informer(configMaps);
  if (isFirst) informers.informer(configMaps, { startWhen });
  run();
  await api.clock.advanceAsync(0);
  expect(isAsked).toBe(false);
  expect((await api.server.next()).path).toBe('/api/v1/configmaps');
});
