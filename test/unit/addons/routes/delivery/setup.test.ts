import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { setUpRouteDelivery } from '../../../../../src/addons/routes/delivery/setup.ts';
import { formatStatus } from '../../../../../src/injection/status.ts';
import type { AdmissionRequest } from '../../../../../src/kube/admission/review.ts';
import { PODS } from '../../../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../../../src/kube/client/client.ts';
import type { RequestOptions } from '../../../../../src/kube/client/rest-client.ts';
import { capturedLog } from '../../../../support/kube/captured-log.ts';
import { refusal } from '../../../../support/kube/fake-events.ts';
import { added, deleted, initialEventsEnd } from '../../../../support/kube/scripted-objects.ts';
import { testManager } from '../../../../support/kube/test-manager.ts';
import { coreOf } from '../../../../support/operator/core-of.ts';
import { routeFor, serviceAt } from '../../../../support/routing/routes.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

const INJECTED = formatStatus({
  ...{ templates: [], overlaid: {}, moved: {}, requests: {} },
  added: { volumes: ['envoy-routes'] },
});
const CLIENT: KubeObject = {
  metadata: {
    ...{ namespace: 'shop', name: 'client' },
    annotations: { 'initializer.kubernetes.io/envoy-status': INJECTED },
  },
};

function versioned<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { uid: 'uid', resourceVersion: '1', ...object.metadata } };
}

/** The delivery before an API server that has these objects, by plural. It writes down what changes them. */
async function delivery(
  objects: Record<string, readonly KubeObject[]>,
  { routes = 'auto', isServed = true }: { routes?: 'auto' | 'off'; isServed?: boolean } = {},
) {
  const clock = new FakeClock();
  const world = { isServed, isTerminating: false };
  const writes: string[] = [];
  const watches = new Map<string, PassThrough>();
  const client = {
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      const groups = [{ versions: [{ groupVersion: 'gateway.networking.k8s.io/v1' }] }];
      if (path === '/apis') return { groups: world.isServed ? groups : [] };
      if (method === 'GET') return { resources: [{ name: 'httproutes' }] };
      if (world.isTerminating) throw refusal(403, 'Forbidden', ['NamespaceTerminating']);
      writes.push(`${method} ${path}`);
      const { metadata } = versioned(body as KubeObject);
      watches.get('configmaps')?.write(added({ metadata }));
      return { metadata };
    },
    list: async () => ({ items: [] }),
    get: async () => CLIENT,
    mergePatch: async ({ plural }: Resource<KubeObject>, { name = '' }) => writes.push(`${plural} ${name}`),
    watch({ plural }: Resource<KubeObject>, options: { signal: AbortSignal; fieldSelector?: string }) {
      const stream = new PassThrough({ objectMode: true });
      if (options.fieldSelector !== 'metadata.name=envoy') watches.set(plural, stream);
      for (const object of objects[plural] ?? []) stream.write(added(versioned(object)));
      stream.write(initialEventsEnd(1));
      options.signal.addEventListener('abort', () => stream.end());
      return stream;
    },
  } as unknown as KubeClient;
  const manager = testManager({ client, clock, log: capturedLog().log });
  const webhooks = new Map<string, Parameters<typeof manager.webhook>[1]>();
  manager.webhook = (path, handler) => void webhooks.set(path, handler);
  let beforeCopy: (namespace: string, signal: AbortSignal) => Promise<void> = async () => {};
  const core = coreOf({
    pods: manager.informer(PODS),
    envoyConfiguration: {
      beforeCopy(task: typeof beforeCopy) {
        beforeCopy = task;
      },
    },
  });
  setUpRouteDelivery(manager, core, { namespace: 'home', routes, routesTouch: true });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  /** Lets so much time pass, and all that waits for it go on. */
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 50) await clock.advanceAsync(50);
  };
  await pass(200);
  return {
    ...{ world, writes, watches, webhooks, pass, beforeCopy, signal: stop.signal },
    tell: (plural: string, event: object) => watches.get(plural)?.write(event),
    series: async () => manager.registry.getSingleMetricAsString('envoy_initializer_routes_file_bytes'),
    async end() {
      stop.abort(new Error('the test is over'));
      await pass(100);
      await running;
    },
  };
}

const OBJECTS = {
  pods: [CLIENT],
  services: [serviceAt('shop/web', '10.96.0.7') as KubeObject],
  httproutes: [
    routeFor('shop/web', 'shop/web', [{ backendRefs: [{ name: 'web', port: 80 }] }]) as KubeObject,
  ],
};
const FILE = 'POST /api/v1/namespaces/shop/configmaps';

test('the namespace of a pod that follows routes gets a file, and the route a status', async () => {
  const { writes, series, end } = await delivery(OBJECTS);
  expect(new Set(writes)).toEqual(new Set([FILE, 'httproutes web']));
  expect(await series()).toContain('namespace="shop"');
  await end();
});

test('a Service is compiled again for what routing reads of it, not for its labels', async () => {
  const { writes, tell, pass, end } = await delivery(OBJECTS);
  const statuses = () => writes.filter((each) => each === 'httproutes web').length;
  const change = (resourceVersion: string, labels: object, ...ips: readonly string[]) => {
    const { metadata, ...rest } = serviceAt('shop/web', ...ips);
    const object = { ...rest, metadata: { ...metadata, uid: 'uid', resourceVersion, labels } };
    tell('services', { type: 'MODIFIED', object });
    return pass(1500);
  };
  const before = statuses();
  await change('2', { a: 'b' }, '10.96.0.7');
  expect(statuses()).toBe(before);
  await change('3', { a: 'b' }, 'None');
  expect(statuses()).toBeGreaterThan(before);
  await end();
});

test('nothing is watched or written before the API server serves HTTPRoutes', async () => {
  const { world, writes, watches, pass, end } = await delivery(OBJECTS, { isServed: false });
  expect([...watches.keys()]).toEqual(['pods']);
  expect(writes).toEqual([]);
  world.isServed = true;
  await pass(2500);
  expect(writes).toContain(FILE);
  await end();
});

test('with --routes=off nothing of routes is watched, and the webhook lets them pass', async () => {
  const { writes, watches, webhooks, signal, end } = await delivery(OBJECTS, { routes: 'off' });
  expect([[...watches.keys()], writes]).toEqual([['pods'], []]);
  const answer = await webhooks.get('/validate-route')?.({} as AdmissionRequest, () => signal);
  expect(answer).toEqual({ allowed: true });
  await end();
});

test('the webhook of routes warns with what the caches have', async () => {
  const { webhooks, signal, pass, end } = await delivery(OBJECTS);
  const object = routeFor('shop/new', 'shop/none', []);
  const kind = { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' };
  const request = { kind, operation: 'CREATE', subResource: '', name: 'new', namespace: 'shop', object };
  const answer = webhooks.get('/validate-route')?.(request as unknown as AdmissionRequest, () => signal);
  await pass(2000);
  expect(await answer).toEqual({
    allowed: true,
    warnings: ['NoMatchingParent: Service shop/none does not exist'],
  });
  await end();
});

test('a namespace has its file before its first pod, which waits for the copy of Envoy’s configuration', async () => {
  const { writes, beforeCopy, signal, end } = await delivery({ ...OBJECTS, pods: [] });
  await beforeCopy('new', signal);
  expect(writes).toContain('POST /api/v1/namespaces/new/configmaps');
  await end();
});

test('a file that is lost comes back, and a namespace that is deleted is forgotten', async () => {
  const { world, writes, tell, series, pass, end } = await delivery(OBJECTS);
  const lost = deleted({
    metadata: { namespace: 'shop', name: 'envoy-routes', uid: 'uid', resourceVersion: '2' },
  });
  tell('configmaps', lost);
  await pass(200);
  expect(writes.filter((each) => each === FILE)).toHaveLength(2);
  world.isTerminating = true;
  tell('configmaps', lost);
  await pass(200);
  tell('pods', deleted(versioned(CLIENT)));
  await pass(200);
  expect(await series()).not.toContain('namespace="shop"');
  await end();
});
