import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must, OPERATOR_NAMESPACE, type Operator, startOperator } from '../../env/operator.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isWatch } from '../../support/faults/fault-proxy.ts';

jest.setTimeout(180_000);

const NETWORKS = 3;
let controlPlane: ControlPlane;
let lab: FaultLab;
let proxy: FaultProxy;
let operator: Operator;

/** The whole operator as a process, which reaches the API server by the proxy alone; it looks at its Networks each second. */
beforeAll(async () => {
  controlPlane = await startControlPlane();
  lab = await FaultLab.before(controlPlane);
  proxy = await lab.proxy([]);
  const kubeconfig = join(controlPlane.directory, 'proxy.kubeconfig');
  await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
  const multus = join(projectDirectory(), 'test/env/control-plane/network-attachment-definition-crd.yaml');
  await must(controlPlane, ['create', 'namespace', OPERATOR_NAMESPACE]);
  operator = await startOperator(controlPlane, {
    log: logFile(),
    ownCertificates: true,
    args: [`--kubeconfig=${kubeconfig}`, '--resync=1s'],
  });
  // It starts without Multus, and looks for it.
  await eventually(
    'it looks again',
    async () => proxy.requests.filter(({ url }) => url === '/apis/k8s.cni.cncf.io/v1').length > 1,
  );
  await must(controlPlane, ['apply', '-f', multus]);
});
afterAll(async () => {
  await proxy?.close();
  await lab?.close();
  await controlPlane?.stop();
});

const logFile = () => join(controlPlane.directory, 'operator.log');

/** Reconciles that ended so far. */
async function reconciled(): Promise<number> {
  const text = await (await fetch(`${operator.metricsUrl}/metrics`)).text();
  return [...text.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm)]
    .map(([, count]) => Number(count))
    .reduce((a, b) => a + b, 0);
}

/** Waits until every Network was looked at so many times more. */
async function resyncs(times: number): Promise<void> {
  const enough = (await reconciled()) + times * NETWORKS;
  await eventually(`${times} resyncs`, async () => (await reconciled()) >= enough);
}

/** What is not the lease. A look for routes, whose CRDs are not here, comes every 30 s. */
const others = (from: number) =>
  proxy.requests
    .slice(from)
    .filter(({ method, url }) => !/^GET .apis.gateway.networking.k8s.io.v1(beta1)?$/.test(`${method} ${url}`))
    .filter(({ url }) => !url.includes(`/leases/${OPERATOR_NAMESPACE}`))
    .map(({ method, url }) => `${method} ${url}`);

test('an operator that has nothing to do renews its lease, and asks and writes nothing else', async () => {
  const networks = Array.from({ length: NETWORKS }, (_, i) => ({
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { namespace: 'default', name: `net-${i}` },
    spec: { cidr: `10.${i}.0.0/24`, gateway: `10.${i}.0.1` },
  }));
  await must(controlPlane, ['apply', '-f', '-'], listed(networks));
  await must(controlPlane, ['wait', '--for=condition=Ready', 'network', '--all', '--timeout=60s']);
  // Events, certificates and whatever else follows a start come to rest.
  await eventually('a resync without a request', async () => {
    const before = proxy.requests.length;
    await resyncs(1);
    return others(before).length === 0;
  });
  const idleSince = proxy.requests.length;
  await resyncs(5);
  expect(others(idleSince)).toEqual([]);
  expect(proxy.requests.length).toBeGreaterThan(idleSince);
  // And it is alive: what was idle for so long hears of the next change.
  await must(controlPlane, ['delete', 'network', '--all', '--timeout=60s']);
  expect(others(idleSince).filter((line) => !isWatch(line))).not.toEqual([]);
  const lines = (await readFile(logFile(), 'utf8')).trim().split('\n');
  expect(lines.filter((line) => ['warn', 'error', 'fatal'].includes(JSON.parse(line).level))).toEqual([]);
});
