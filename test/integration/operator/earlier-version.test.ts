import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { PROGRAM } from '../../../src/util/identity.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import {
  applyOverlay,
  listed,
  must,
  OPERATOR_NAMESPACE,
  type Operator,
  startOperator,
} from '../../env/operator.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import {
  EARLIER,
  earlierVersion,
  obstacleTo,
  THIS_VERSION,
  type Version,
} from '../../support/operator/earlier-version.ts';
import { fencedCalls } from '../../support/operator/rights.ts';

jest.setTimeout(300_000);

const TEMPLATES = 'initializer.kubernetes.io/envoy-templates';
const HTTP_ROUTES = 'gateway.networking.k8s.io/v1';

describeUnless(await obstacleTo(EARLIER), 'upgrade and downgrade', () => {
  let controlPlane: ControlPlane;
  let earlier: Version;
  let operator: Operator | undefined;
  let port = 0;
  let steps = 0;
  let made = 0;
  /** What the fence of the earlier manifests has refused this version. */
  let fenced: readonly string[] = [];
  const apply = (...objects: readonly object[]) => must(controlPlane, ['apply', '-f', '-'], listed(objects));
  const kubectl = async (line: string) => (await must(controlPlane, line.split(' '))).stdout.trim();

  beforeAll(async () => {
    earlier = await earlierVersion(EARLIER);
    [port = 0] = await freePorts(1);
    controlPlane = await startControlPlane({ auditLog: 'Metadata' });
    const multus = 'test/env/control-plane/network-attachment-definition-crd.yaml';
    const root = join(THIS_VERSION.deploy, '..');
    await kubectl(`apply -f ${join(root, multus)}`);
    await kubectl(`create namespace ${OPERATOR_NAMESPACE}`);
    await serviceAccount(controlPlane, OPERATOR_NAMESPACE);
    await serviceAccount(controlPlane, 'default');
    await kubectl(`apply --server-side -k ${await httpRouteCrds()}`);
  });

  afterAll(() => controlPlane?.stop());

  const applyOf = ({ deploy }: Version) =>
    applyOverlay(controlPlane, join(deploy, 'overlays/dev'), `https://127.0.0.1:${port}`);

  /** Ends the replica before it, and takes its address. */
  async function run({ program }: Version): Promise<void> {
    operator?.process.kill('SIGTERM');
    await operator?.process.exited;
    steps += 1;
    const name = `operator-${steps}`;
    const log = join(controlPlane.directory, `${name}.log`);
    const options = { name, log, program, port, ownCertificates: true, isInstalled: true };
    operator = await startOperator(controlPlane, options);
  }

  /** Makes a Network, a pod on it with a sidecar, and a route. */
  async function make(name: string): Promise<void> {
    made += 1;
    const annotations = { [TEMPLATES]: 'transparent', 'samplecrd.k8s.io/network': name };
    const parentRefs = [{ group: '', kind: 'Service', name: 'web' }];
    const matches = [{ path: { type: 'PathPrefix', value: `/${name}` } }];
    const rules = [{ matches, backendRefs: [{ name: 'web', port: 80 }] }];
    const spec = { cidr: `10.20.${made}.0/24`, gateway: `10.20.${made}.1` };
    await apply(
      { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata: { name }, spec },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, labels: { [OPT_IN]: 'true' }, annotations },
        spec: { containers: [{ name: 'app', image: 'app' }] },
      },
      { apiVersion: HTTP_ROUTES, kind: 'HTTPRoute', metadata: { name }, spec: { parentRefs, rules } },
    );
    expect(await kubectl(`get pod ${name} -o yaml`)).toContain('initializer.kubernetes.io/envoy-status');
  }

  async function untilWorks(name: string): Promise<void> {
    await kubectl(`wait network/${name} --for=condition=Ready --timeout=60s`);
    await eventually('the pod waits no longer', async () => {
      return !(await kubectl(`get pod ${name} -o yaml`)).includes('schedulingGates');
    });
    await eventually('sidecars get the route', async () => {
      return (await kubectl('get configmap envoy-routes -o yaml')).includes(`/${name}"`);
    });
  }

  async function works(name: string): Promise<void> {
    await make(name);
    await untilWorks(name);
  }

  test('the earlier version works under its own manifests', async () => {
    await applyOf(earlier);
    await run(earlier);
    await kubectl(`wait --for=create configmap/${PROGRAM} -n ${OPERATOR_NAMESPACE} --timeout=30s`);
    await kubectl(`apply --server-side --force-conflicts -k ${join(earlier.deploy, 'transparent')}`);
    await apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
    });
    await eventually('the template is there', async () => {
      await apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: 'first',
          labels: { [OPT_IN]: 'true' },
          annotations: { [TEMPLATES]: 'transparent' },
        },
        spec: { containers: [{ name: 'app', image: 'app' }] },
      });
      if ((await kubectl('get pod first -o yaml')).includes('envoy-routes')) return true;
      await kubectl('delete pod first --now');
      return false;
    });
    await works('earlier');
  });

  test('this version under the earlier manifests injects, and does the rest once its own are applied', async () => {
    await run(THIS_VERSION);
    await make('mixed');
    await applyOf(THIS_VERSION);
    await untilWorks('mixed');
    await works('upgraded');
    fenced = await fencedCalls(controlPlane.auditLogPath);
  });

  test('the earlier version works under the manifests of this one, as during an update that fails', async () => {
    await run(earlier);
    await works('stuck');
  });

  test('the earlier manifests and version work again after an upgrade', async () => {
    await applyOf(earlier);
    await works('downgraded');
  });

  test('this version works again after a downgrade, and what all have made is left', async () => {
    await applyOf(THIS_VERSION);
    await run(THIS_VERSION);
    await works('again');
    const names = ['again', 'downgraded', 'earlier', 'mixed', 'stuck', 'upgraded'];
    for (const name of names) await untilWorks(name);
    // Under its own manifests, and the earlier one under these.
    expect(await fencedCalls(controlPlane.auditLogPath)).toEqual(fenced);
  });
});
