import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  HTTP_ROUTES,
  type LiveService,
  ROUTES_CONFIG_MAP,
  ROUTES_MANAGER,
  SERVICES,
} from '../../../src/addons/routes/delivery/resources.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { memoryOf } from '../../support/operator/process-memory.ts';
import { operatorCalls } from '../../support/operator/rights.ts';
import { FakeSidecars } from '../../support/routing/fake-sidecars.ts';
import { worldNamespace, worldRoute, worldService } from '../../support/routing/route-world.ts';
import { untilTrue } from '../../support/time/until-true.ts';

/** Routes, Services, namespaces and pods: `make route-fleet` has 1,000, 500, 100 and 10,000. */
const [routes, services, namespaces, PODS] = (process.env.ROUTE_FLEET ?? '20,10,5,20')
  .split(',')
  .map(Number) as [number, number, number, number];
const SIZE = { routes, services, namespaces };
const AT_ONCE = 16;
const OPERATOR_MIB = 256;
jest.setTimeout(process.env.ROUTE_FLEET ? 1_800_000 : 120_000);

let fixture: OperatorFixture;
let client: KubeClient;
let sidecars: FakeSidecars;

async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

beforeAll(async () => {
  // The default has 254 addresses.
  fixture = await startOperatorFixture({ extraApiServerArgs: ['--service-cluster-ip-range=10.96.0.0/16'] });
  await fixture.kubectl('apply', '--server-side', '-k', await httpRouteCrds());
  const config = loadKubeConfig({ kubeconfig: fixture.controlPlane.kubeconfigPath, master: undefined });
  client = new KubeClient({ transport: new Transport(config, systemClock, 'test'), clock: systemClock });
  sidecars = new FakeSidecars(client, { fromCache: true });
  await sidecars.start();
  await fixture.apply(
    ...Array.from({ length: namespaces }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: worldNamespace(i) },
    })),
  );
}, 600_000);

afterAll(async () => {
  await sidecars?.stop();
  await fixture?.stop();
});

const isCurrent = async () => {
  const maps = sidecars.maps.lister.list();
  return maps.length === namespaces && sidecars.areCurrent();
};

/** The writes of the operator for routes up to now: files, annotations of pods, statuses. */
async function writes() {
  const calls = await operatorCalls(fixture.controlPlane.auditLogPath);
  const count = (verb: string, resource: string) =>
    calls.filter((call) => call.verb === verb && call.resource === resource).length;
  // The webhook may create a file at the same time as the controller: the API server takes one of them.
  const files = calls.filter(
    ({ resource, uri }) => resource === 'configmaps' && uri.includes(ROUTES_MANAGER),
  );
  return {
    made: files.filter(({ verb, code }) => verb === 'create' && code === 201).length,
    changed: files.filter(({ verb }) => verb === 'patch').length,
    touched: count('patch', 'pods'),
  };
}

async function route(index: number, change: number, annotations?: object): Promise<void> {
  const { metadata, spec } = worldRoute(index, SIZE, change);
  const { namespace, name } = metadata;
  const object = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { namespace, name, annotations },
    spec,
  };
  await client.apply(HTTP_ROUTES, { namespace, name }, object, { fieldManager: 'test', force: true });
}

/** The operator knows that all sidecars have their routes: it touches only those that it has asked. */
async function noneIsBehind(): Promise<void> {
  await eventually('no sidecar is behind', async () => {
    const metrics = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
    return metrics.includes('envoy_initializer_routes_sidecars_behind 0');
  });
}

/** The change that comes last has come to the operator when all sidecars have it. */
async function changed(index: number, change: number, where: readonly string[]): Promise<void> {
  await route(index, change);
  await untilTrue(
    async () =>
      where.every((namespace) =>
        sidecars.maps.lister
          .get(`${namespace}/${ROUTES_CONFIG_MAP}`)
          ?.data?.['rds.json']?.includes(`/route-${index}/${change}`),
      ) && (await isCurrent()),
  );
}

test('each namespace gets its file once, and each sidecar takes it', async () => {
  await eachOf(services, async (index) => {
    const { metadata } = worldService(index, SIZE);
    const spec = { ports: [{ port: 80, protocol: 'TCP' as const }], selector: { app: metadata.name } };
    await client.create(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata, spec } as LiveService);
  });
  await eachOf(routes, (index) => route(index, 0));
  await eachOf(PODS, async (index) => {
    const place = index % namespaces;
    await sidecars.add(worldNamespace(place), `pod-${index}`, `127.16.${place >> 8}.${(place & 255) + 1}`);
  });
  await untilTrue(isCurrent);
  expect(sidecars.violations).toEqual([]);
  expect((await writes()).made).toBe(namespaces);
  await noneIsBehind();
});

const all = Array.from({ length: namespaces }, (_, i) => worldNamespace(i));
/** Every tenth is one, for the clients of the namespace after that of its Service. */
const CONSUMER = 9;
const consumers = worldNamespace((CONSUMER + 1) % namespaces);

test('a route for all clients changes each file once, and touches each pod', async () => {
  const before = await writes();
  await changed(
    0,
    1,
    all.filter((namespace) => namespace !== consumers || CONSUMER % services !== 0),
  );
  // A sidecar may be current before the call that touches its pod is in the audit log.
  await eventually('each pod is touched', async () => (await writes()).touched - before.touched >= PODS);
  const after = await writes();
  expect(after.made).toBe(before.made);
  expect(after.changed - before.changed).toBe(namespaces);
  // A pod that the kubelet was told of too early is touched again.
  expect(after.touched - before.touched).toBeLessThan(1.2 * PODS + 5);
});

test('a route for the clients of one namespace changes its file alone', async () => {
  const before = await writes();
  await changed(CONSUMER, 1, [consumers]);
  const after = await writes();
  expect(after.changed - before.changed).toBe(1);
  const inOne = all.length > 0 ? Math.ceil(PODS / namespaces) : 0;
  expect(after.touched - before.touched).toBeLessThan(1.2 * inOne + 5);
});

test('what changes no text writes no file and touches no pod: annotations, Services without routes, a restart', async () => {
  await changed(CONSUMER, 2, [consumers]);
  const before = await writes();
  await eachOf(Math.min(routes, 50), (index) =>
    route(index, index === CONSUMER ? 2 : index === 0 ? 1 : 0, { note: 'seen' }),
  );
  await eachOf(20, (index) =>
    client.create(SERVICES, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'default', name: `other-${index}` },
      spec: { ports: [{ port: 80, protocol: 'TCP' as const }] },
    } as LiveService),
  );
  fixture.operator.process.kill('SIGKILL');
  await fixture.operator.restart();
  // What comes last has been handled, and with it all before it.
  await changed(CONSUMER, 3, [consumers]);
  const after = await writes();
  expect(after.changed - before.changed).toBe(1);
  expect(after.touched - before.touched).toBeLessThan(1.2 * Math.ceil(PODS / namespaces) + 5);
});

test('the operator stays small, and says so of its files', async () => {
  const { now, most } = await memoryOf(fixture.operator.process.pid);
  const sizes = sidecars.maps.lister.list().map(({ data }) => Buffer.byteLength(data?.['rds.json'] ?? ''));
  process.stderr.write(
    `      ${routes} routes, ${PODS} pods: ${Math.round(now)} MiB, ${Math.round(most)} at most; largest file ${Math.max(...sizes)} bytes\n`,
  );
  expect(most).toBeLessThan(OPERATOR_MIB);
  await noneIsBehind();
});
