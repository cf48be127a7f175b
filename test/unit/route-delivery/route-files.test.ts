import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import type { EventDetails } from '../../../src/kube/events/events.ts';
import { ROUTES_LABEL, type RoutesMap } from '../../../src/route-delivery/resources.ts';
import { RouteFiles } from '../../../src/route-delivery/route-files.ts';
import { MAX_BYTES } from '../../../src/routing/left-out.ts';
import { refusal } from '../../support/fake-events.ts';

const { signal } = new AbortController();
const FILE = { text: 'new', version: 'v', leftOut: new Map<string, number>() };
const OURS: RoutesMap = {
  metadata: {
    name: 'envoy-routes',
    namespace: 'shop',
    resourceVersion: '7',
    labels: { [ROUTES_LABEL]: 'home' },
  },
  data: { 'rds.json': 'old' },
};

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
  const done: unknown[] = [];
  const answer = <T extends KubeObject>(resource: Resource<T>, ...write: readonly unknown[]): T => {
    done.push(write);
    if (fails) throw fails;
    return resource.decode({ metadata: { name: 'envoy-routes' } });
  };
  const files = new RouteFiles({
    client: {
      create: async (resource, object, options) => answer(resource, 'create', object, options?.fieldManager),
      jsonPatch: async (resource, ref, operations, options) =>
        answer(resource, 'patch', ref, operations, options?.fieldManager),
    },
    configMaps: { get: (key) => (key === 'shop/envoy-routes' ? found : undefined) },
    namespace: 'home',
    file: () => ({ ...FILE, text, leftOut }),
    hasSidecars: () => hasSidecars,
    events: {
      event: ({ metadata }, { type, reason, note }: EventDetails) =>
        void done.push(['event', `${metadata.namespace}/${metadata.name}`, type, reason, note]),
    },
    delivered: (namespace, { version }, isNew) => void done.push(['delivered', namespace, version, isNew]),
    refused: (namespace) => void done.push(['refused', namespace]),
  });
  return { files, done };
}

const MANAGER = 'envoy-initializer-routes';
const PATCH = [
  'patch',
  { namespace: 'shop', name: 'envoy-routes' },
  [
    { op: 'test', path: '/metadata/resourceVersion', value: '7' },
    { op: 'add', path: '/data', value: { 'rds.json': 'new' } },
  ],
  MANAGER,
];

test('is made with the label of the operator, and only then delivered', async () => {
  const { files, done } = setUp({});
  expect(await files.reconcile('shop', signal)).toEqual({});
  expect(done).toEqual([
    [
      'create',
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

test('is not made for a namespace without sidecars, but for its first one', async () => {
  const { files, done } = setUp({ hasSidecars: false });
  await files.reconcile('shop', signal);
  expect(done).toEqual([]);
  await files.reconcile('shop', signal, true);
  expect(done).toHaveLength(2);
});

test('is changed where it is as it was seen, and only then delivered', async () => {
  const { files, done } = setUp({ found: OURS });
  await files.reconcile('shop', signal);
  expect(done).toEqual([PATCH, ['delivered', 'shop', 'v', true]]);
});

test('is left as it is where it is right', async () => {
  const { files, done } = setUp({ found: { ...OURS, data: { 'rds.json': 'new' } } });
  await files.reconcile('shop', signal);
  expect(done).toEqual([['delivered', 'shop', 'v', false]]);
});

test.each([
  ['another client has changed it', OURS, refusal(409, 'Conflict')],
  ['the test of the patch fails', OURS, refusal(422, 'Invalid')],
  ['it is gone', OURS, refusal(404, 'NotFound')],
  ['another client has made it', undefined, refusal(409, 'AlreadyExists')],
  ['the namespace is going', undefined, refusal(403, 'Forbidden', ['NamespaceTerminating'])],
])('is not delivered where %s: the watch tells of it', async (_, found, fails) => {
  const { files, done } = setUp({ ...(found && { found }), fails });
  expect(await files.reconcile('shop', signal)).toEqual({});
  expect(done).toHaveLength(1);
});

test('is tried again by the queue where the API server fails', async () => {
  const { files, done } = setUp({ found: OURS, fails: refusal(500, 'InternalError') });
  await expect(files.reconcile('shop', signal)).rejects.toThrow('InternalError');
  expect(done).toEqual([PATCH]);
});

test('is a user’s without the label: nothing is written, and an Event says so', async () => {
  const { metadata, ...rest } = OURS;
  const { files, done } = setUp({ found: { ...rest, metadata: { ...metadata, labels: {} } } });
  await files.reconcile('shop', signal);
  expect(done).toEqual([
    ['refused', 'shop'],
    ['event', 'shop/envoy-routes', 'Warning', 'RoutesNotOurs', expect.stringContaining(ROUTES_LABEL)],
  ]);
});

test('stays as it was where it would be too large, and an Event gives both sizes', async () => {
  const { files, done } = setUp({ found: OURS, text: 'x'.repeat(MAX_BYTES + 1) });
  await files.reconcile('shop', signal);
  expect(done).toEqual([
    ['refused', 'shop'],
    [
      'event',
      'shop/envoy-routes',
      'Warning',
      'RoutesTooLarge',
      expect.stringMatching(/ 900001 bytes, more than 900000: sidecars keep the routes from before/),
    ],
  ]);
});

test('is written without the routes that have no place, and an Event names them', async () => {
  const { files, done } = setUp({ found: OURS, leftOut: new Map([['giant', 900_001]]) });
  await files.reconcile('shop', signal);
  expect(done).toEqual([
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
