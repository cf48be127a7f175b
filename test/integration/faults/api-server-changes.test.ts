import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { TransportError } from '../../../src/kube/api/api-error.ts';
import { NAMESPACES } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { type Clock, systemClock } from '../../../src/kube/workqueue/clock.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import type { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { LoadBalancer } from '../../support/faults/load-balancer.ts';
import { configMaps } from '../../support/kube/scripted-objects.ts';
import { testAuthority } from '../../support/kube/test-authority.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilTrue } from '../../support/time/until-true.ts';

/** How long a file is believed. */
const FILE_MS = 10_000;

let lab: FaultLab;
let clock: FakeClock;
let closing: (() => Promise<void>)[];

beforeAll(async () => {
  lab = await FaultLab.start();
});
afterAll(() => lab?.close());
beforeEach(() => {
  clock = new FakeClock();
  closing = [];
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function proxyOf(...faults: Parameters<FaultLab['proxy']>[0]): Promise<FaultProxy> {
  const proxy = await lab.proxy(faults);
  closing.push(() => proxy.close());
  return proxy;
}

function portOf(proxy: FaultProxy): number {
  return Number(new URL(proxy.kubeConfig.getCurrentCluster()?.server ?? '').port);
}

/** A client whose connections age as the test's clock says. */
function clientOf(config: KubeConfig, of: Clock = systemClock): KubeClient {
  const transport = new Transport(config, clock);
  closing.push(() => transport.close());
  return new KubeClient({ transport, clock: of });
}

test('an API server that joins behind a load balancer gets its share without a restart', async () => {
  const [first, second] = [await proxyOf(), await proxyOf()];
  const balancer = await LoadBalancer.start(portOf(first));
  closing.push(() => balancer.close());
  const config = new KubeConfig();
  const cluster = first.kubeConfig.getCurrentCluster();
  config.loadFromClusterAndUser(
    { name: 'c', skipTLSVerify: false, ...cluster, server: `https://127.0.0.1:${balancer.port}` },
    { name: 'u' },
  );
  const client = clientOf(config);
  const requests = async () => {
    for (let i = 0; i < 10; i++) await client.get(NAMESPACES, { name: 'default' });
  };
  await requests();
  balancer.join(portOf(second));
  await requests();
  expect(second.requests).toHaveLength(0);
  // The balancer takes the API servers in turn: of three new connections, one at least is to the second.
  for (let age = 0; age < 3; age++) {
    clock.advance(360_000);
    await requests();
  }
  expect(second.requests.length).toBeGreaterThanOrEqual(10);
  expect(first.requests.length + second.requests.length).toBe(50);
  // Two of each age at most.
  expect(balancer.connections).toBeLessThanOrEqual(8);
});

test('a certificate of a new authority is taken once its file says so, and an open watch lives on', async () => {
  const [before, after] = [await testAuthority(), await testAuthority()];
  const caFile = join(lab.controlPlane.directory, 'rotated-ca.pem');
  await writeFile(caFile, before.caPem);
  const proxy = await proxyOf();
  proxy.rotate(await before.server());
  const config = proxy.kubeConfigWith(caFile);
  const client = clientOf(config, clock);
  const namespace = await lab.namespace();
  const informer = new Informer<KubeObject>({
    ...{ client, clock, namespace, resource: configMaps },
    onError: () => undefined,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  closing.push(async () => {
    stop.abort();
    await running;
  });
  const sees = async (name: string) => {
    const configMap: KubeObject = { metadata: { namespace, name } };
    await lab.client.create(configMaps, configMap);
    await untilTrue(async () => informer.lister.get(`${namespace}/${name}`) !== undefined);
  };
  await untilTrue(async () => informer.hasSynced());
  proxy.rotate(await after.server());
  await sees('by-the-open-watch');
  const getAnew = () => clientOf(config, clock).get(NAMESPACES, { name: 'default' });
  const codeOf = (error: unknown) => (error instanceof TransportError ? error.code : error);
  expect(await getAnew().catch(codeOf)).toMatch(/CERT|VERIFY/);
  await writeFile(caFile, after.caPem);
  await clock.advanceAsync(FILE_MS);
  expect((await getAnew()).metadata.name).toBe('default');
});
