import { expect, test } from '@jest/globals';
import { ROUTES_LABEL, type RoutesMap } from '../../../../../src/addons/routes/delivery/resources.ts';
import { planFile, RouteFiles } from '../../../../../src/addons/routes/delivery/route-files.ts';
import { apiErrorFrom } from '../../../../../src/kube/api/api-error.ts';
import type { EventDetails } from '../../../../../src/kube/events/events.ts';
import { refusal } from '../../../../support/kube/fake-events.ts';
import { requesting } from '../../../../support/kube/requesting.ts';

const { signal } = new AbortController();
const FILE = { text: 'new', version: 'v', leftOut: new Map<string, number>() };
const NAMED = { name: 'envoy-routes', namespace: 'shop', labels: { [ROUTES_LABEL]: 'home' } };
const OURS: RoutesMap = { metadata: { ...NAMED, resourceVersion: '7' }, data: { 'rds.json': 'old' } };

/** What the operator did for namespace `shop`, in order. */
function setUp({
  found,
  text = FILE.text,
  hasSidecars = true,
  leftOut = FILE.leftOut,
  fails,
}: {
  found?: RoutesMap;
  text?: string;
  hasSidecars?: boolean;
  leftOut?: ReadonlyMap<string, number>;
  fails?: Error;
}) {
  const done: (readonly unknown[])[] = [];
  /** In the API server, and in the cache as far as the watch has come. */
  const world = { found, cached: found, text };
  const files = new RouteFiles({
    client: requesting(async (method, path, { body, query, accept } = {}) => {
      if (method === 'GET') {
        done.push(['read', path, query?.fieldSelector]);
        return { metadata: { resourceVersion: '9' }, items: world.found ? [world.found] : null };
      }
      done.push([method, path, JSON.parse(JSON.stringify(body)), query?.fieldManager]);
      if (fails) throw fails;
      expect(accept).toContain('as=PartialObjectMetadata');
      const resourceVersion = `${Number(world.found?.metadata.resourceVersion ?? 7) + 1}`;
      world.found = { metadata: { ...NAMED, resourceVersion }, data: { 'rds.json': world.text } };
      return { metadata: { ...NAMED, resourceVersion } };
    }),
    // Without data: the texts in all namespaces would take too much memory.
    configMaps: {
      get: (key) =>
        key === 'shop/envoy-routes' ? world.cached && { metadata: world.cached.metadata } : undefined,
    },
    namespace: 'home',
    file: () => ({
      text: world.text,
      bytes: Buffer.byteLength(world.text),
      version: world.text === FILE.text ? FILE.version : world.text,
      leftOut,
    }),
    hasSidecars: () => hasSidecars,
    events: {
      event: ({ metadata }, { type, reason, note }: EventDetails) =>
        void done.push(['event', `${metadata.namespace}/${metadata.name}`, type, reason, note]),
    },
    delivered: (namespace, { version }, isNew) => void done.push(['delivered', namespace, version, isNew]),
    refused: (namespace) => void done.push(['refused', namespace]),
    forget: (namespace) => void done.push(['forget', namespace]),
  });
  return { files, done, world };
}

const MANAGER = 'envoy-initializer-routes';
const MAPS = '/api/v1/namespaces/shop/configmaps';
const READ = ['read', MAPS, 'metadata.name=envoy-routes'];
const patch = (resourceVersion: string, text: string) => [
  'PATCH',
  `${MAPS}/envoy-routes`,
  [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/data', value: { 'rds.json': text } },
  ],
  MANAGER,
];
const PATCH = patch('7', 'new');

test('a file of routes is made with the label of the operator, and only then delivered', async () => {
  const { files, done } = setUp({});
  expect(await files.reconcile('shop', signal)).toEqual({});
  expect(done).toEqual([
    [
      'POST',
      MAPS,
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'shop', name: 'envoy-routes', labels: { [ROUTES_LABEL]: 'home' } },
        data: { 'rds.json': 'new' },
      },
      MANAGER,
    ],
    ['delivered', 'shop', 'v', true],
  ]);
});

test('a file of routes is not made for a namespace without sidecars, but for its first one', async () => {
  const { files, done } = setUp({ hasSidecars: false });
  await files.reconcile('shop', signal);
  expect(done).toEqual([['forget', 'shop']]);
  await files.reconcile('shop', signal, true);
  expect(done).toHaveLength(3);
});

test('a file of routes is changed where it is as it was seen, and only then delivered', async () => {
  const { files, done } = setUp({ found: OURS });
  await files.reconcile('shop', signal);
  expect(done).toEqual([READ, PATCH, ['delivered', 'shop', 'v', true]]);
});

test('a file of routes is left as it is where it is right', async () => {
  const { files, done } = setUp({ found: { ...OURS, data: { 'rds.json': 'new' } } });
  await files.reconcile('shop', signal);
  expect(done).toEqual([READ, ['delivered', 'shop', 'v', false]]);
});

test('a file of routes is read again only after another client has changed it', async () => {
  const { files, done, world } = setUp({ found: OURS });
  await files.reconcile('shop', signal);
  // The watch has not come to what was written.
  await files.reconcile('shop', signal);
  world.cached = world.found;
  await files.reconcile('shop', signal);
  expect(done).toEqual([
    READ,
    PATCH,
    ['delivered', 'shop', 'v', true],
    ['delivered', 'shop', 'v', false],
    ['delivered', 'shop', 'v', false],
  ]);
  done.length = 0;
  world.text = 'newer';
  await files.reconcile('shop', signal);
  expect(done).toEqual([patch('8', 'newer'), ['delivered', 'shop', 'newer', true]]);
  done.length = 0;
  world.found = { metadata: { ...NAMED, resourceVersion: '20' }, data: { 'rds.json': 'of another' } };
  world.cached = world.found;
  await files.reconcile('shop', signal);
  expect(done).toEqual([READ, patch('20', 'newer'), ['delivered', 'shop', 'newer', true]]);
});

test('a file of routes is not made twice before the watch shows it, and is made again after a deletion', async () => {
  const { files, done, world } = setUp({});
  await files.reconcile('shop', signal);
  await files.reconcile('shop', signal);
  expect(done.map(([what]) => what)).toEqual(['POST', 'delivered', 'read', 'delivered']);
  done.length = 0;
  world.found = undefined;
  await files.reconcile('shop', signal);
  expect(done.map(([what]) => what)).toEqual(['read', 'POST', 'delivered']);
});

test.each([
  ['another client has changed it', OURS, refusal(409, 'Conflict')],
  ['the test of the patch fails', OURS, refusal(422, 'Invalid')],
  ['it is gone', OURS, refusal(404, 'NotFound')],
  ['another client has made it', undefined, refusal(409, 'AlreadyExists')],
  ['the namespace is going', undefined, refusal(403, 'Forbidden', ['NamespaceTerminating'])],
])('a file of routes is not delivered where %s: the watch shows it', async (_, found, fails) => {
  const { files, done } = setUp({ ...(found && { found }), fails });
  expect(await files.reconcile('shop', signal)).toEqual({});
  expect(done.filter(([what]) => what !== 'read')).toHaveLength(1);
});

test('a file of routes is tried again by the queue where the API server fails', async () => {
  const { files, done } = setUp({ found: OURS, fails: refusal(500, 'InternalError') });
  await expect(files.reconcile('shop', signal)).rejects.toThrow('InternalError');
  expect(done).toEqual([READ, PATCH]);
});

test('a file of routes that a policy denies is tried again, and an Event and an obstacle say why', async () => {
  const fails = apiErrorFrom(422, { message: 'needs a team', details: { kind: 'configmaps' } });
  const { files, done } = setUp({ found: OURS, fails });
  await expect(files.reconcile('shop', signal)).rejects.toBe(fails);
  const note = expect.stringMatching(/refused ConfigMap envoy-routes in namespace shop.*: needs a team/);
  const event = ['event', 'shop/envoy-routes', 'Warning', 'RequestRefused', note];
  expect(done).toEqual([READ, PATCH, ['refused', 'shop'], event]);
  expect(files.obstacles.get('shop')).toEqual({ reason: 'RequestRefused', message: note });
});

test('a file of routes is a user’s without the label: nothing is written, and an Event says so', async () => {
  const { metadata, ...rest } = OURS;
  const { files, done } = setUp({ found: { ...rest, metadata: { ...metadata, labels: {} } } });
  await files.reconcile('shop', signal);
  expect(done).toEqual([
    READ,
    ['refused', 'shop'],
    ['event', 'shop/envoy-routes', 'Warning', 'RoutesNotOurs', expect.stringContaining(ROUTES_LABEL)],
  ]);
});

test('a file of routes is written without the routes that have no place, and an Event names them', async () => {
  const { files, done } = setUp({ found: OURS, leftOut: new Map([['giant', 900_001]]) });
  await files.reconcile('shop', signal);
  expect(done).toEqual([
    READ,
    [
      'event',
      'shop/envoy-routes',
      'Warning',
      'RoutesTooLarge',
      expect.stringMatching(/ 900001 bytes of routes in namespace giant are left out/),
    ],
    PATCH,
    ['delivered', 'shop', 'v', true],
  ]);
});

const map = (version: string, isImmutable: boolean, metadata: object = {}) => ({
  metadata: { ...NAMED, ...metadata },
  version,
  isImmutable,
});

test.each([
  ['is old and no pod runs', map('old', false), 'update'],
  ['is immutable', map('old', true), 'immutable'],
  ['is immutable and right', map('v', true), 'in-place'],
  ['is going', map('old', false, { deletionTimestamp: 'now' }), 'nothing'],
] as const)('a ConfigMap of routes that %s', (_, found, step) => {
  expect(planFile('v', found, false)).toBe(step);
});
