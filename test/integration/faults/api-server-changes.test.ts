import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { POLICIES } from '../../../src/addons/policies/resources.ts';
import { setUpPolicies } from '../../../src/addons/policies/setup.ts';
import { LiveTemplates } from '../../../src/injection/webhook/live-templates.ts';
import { NAMESPACES } from '../../../src/kube/api/core-resources.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import type { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { LoadBalancer } from '../../support/faults/load-balancer.ts';
import { DEMO_TEMPLATE } from '../../support/injection/demo.ts';
import { since } from '../../support/jest/since.ts';
import { testManager } from '../../support/kube/test-manager.ts';
import { coreOf } from '../../support/operator/core-of.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { untilTrue } from '../../support/time/until-true.ts';

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
function clientOf(config: KubeConfig): KubeClient {
  const transport = new Transport(config, clock);
  closing.push(() => transport.close());
  return new KubeClient({ transport, clock: systemClock });
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

since(36).test(
  'policies are kept once the API server knows them, by a process that started before (since 1.36)',
  async () => {
    const proxy = await proxyOf({ kind: 'status', code: 404 });
    const client = clientOf(proxy.kubeConfig);
    await lab.client.create(NAMESPACES, { metadata: { name: 'envoy-initializer' } } as object as {
      metadata: { namespace?: string };
    });
    const log = pino({ level: 'silent' });
    const templates = new LiveTemplates({ adopted() {}, rejected() {} }, 'default/template');
    templates.update({ data: { config: DEMO_TEMPLATE } });
    const manager = testManager({ client, clock, log });
    const core = coreOf({
      newPods: { forPolicies: () => ({ state: templates.state, canary: undefined }), onChanged() {} },
      serverMinor: { current: () => undefined, onChanged() {} },
      namespaces: { unseen: () => ({}), onUnseen() {} },
    });
    setUpPolicies(manager, core, { initializerName: 'envoy.initializer.kubernetes.io', policy: 'auto' });
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    closing.push(async () => {
      stop.abort(new Error('the test is over'));
      await clock.advanceAsync(0);
      await running;
    });
    const policies = async () => (await lab.client.list(POLICIES, {})).items;
    // Two are of the Events.
    await until(() => clock.pendingTimers === 3);
    await clock.advanceAsync(599_999);
    expect(proxy.requests).toHaveLength(1);
    expect(await policies()).toEqual([]);
    await clock.advanceAsync(120_001);
    await untilTrue(async () => (await policies()).length > 0);
    expect(proxy.requests[1]?.url).toBe('/apis/admissionregistration.k8s.io/v1');
  },
);
