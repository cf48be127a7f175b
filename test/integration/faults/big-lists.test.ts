import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Duplex, Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { PODS } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must, OPERATOR_NAMESPACE, type Operator, startOperator } from '../../env/operator.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isWatch } from '../../support/faults/fault-proxy.ts';
import { untilTrue } from '../../support/time/until-true.ts';

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
}

/** Passes a list on with each of its items so many times, each time under another name and UID. */
function multipliedList(times: number): Duplex {
  return Duplex.from(async function* (body: AsyncIterable<Uint8Array>) {
    const { items, ...rest } = (await json(Readable.from(body))) as List;
    yield `${JSON.stringify(rest).slice(0, -1)},"items":[`;
    let separator = '';
    for (const item of items) {
      for (let copy = 0; copy < times; copy++) {
        const metadata = {
          ...item.metadata,
          name: `${item.metadata.name}-${copy}`,
          uid: `${copy}-${item.metadata.uid}`,
        };
        yield separator + JSON.stringify({ ...item, metadata });
        separator = ',';
      }
    }
    yield ']}\n';
  });
}

const PODS_LISTED = 40_000;
/** Of them, created in etcd; a proxy answers each of them as often as it takes. `make big-lists` creates all. */
const PODS_CREATED = Number(process.env.BIG_LISTS_CREATED ?? 40);
const MIB = 2 ** 20;
/** The limit of deploy/base is 512 MiB. */
const PEAK_BYTES = 400e6;
const AT_ONCE = 32;
jest.setTimeout(1_200_000);

let controlPlane: ControlPlane;
let lab: FaultLab;
let proxy: FaultProxy;
let operator: Operator;

beforeAll(async () => {
  // No kube-controller-manager: it lists all pods too.
  const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
  controlPlane = await startControlPlane({ binaries });
  lab = await FaultLab.before(controlPlane);
});
afterAll(async () => {
  await proxy?.close();
  await lab?.close();
  await controlPlane?.stop();
});

/** A pod of about 10 kB as the API server lists it, 3 kB of them metadata. */
function bigPod(number: number): KubeObject {
  const env = Array.from({ length: 60 }, (_, i) => ({
    name: `VARIABLE_${i}`,
    value: `${i}`.padEnd(50, '='),
  }));
  return {
    metadata: {
      namespace: 'default',
      name: `pod-${number}`,
      labels: { app: `app-${number % 100}` },
      annotations: { notes: 'n'.repeat(2_000) },
    },
    spec: { containers: [{ name: 'app', image: 'registry.example.com/app:1.4.2', env }] },
  } as KubeObject;
}

async function createPods(): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < PODS_CREATED) await lab.client.create(PODS, bigPod(next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** The most memory that the process ever held, in bytes. */
async function peak(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const isPodList = (url: string) => url.startsWith('/api/v1/pods?') && !isWatch(url);

test(`a list of ${PODS_LISTED} pods of 10 kB fits into the memory of the manifests`, async () => {
  await createPods();
  const times = PODS_LISTED / PODS_CREATED;
  const rewrite = (url: string) => (times > 1 && isPodList(url) ? multipliedList(times) : undefined);
  proxy = await lab.proxy([], { rewrite });
  const kubeconfig = join(controlPlane.directory, 'proxy.kubeconfig');
  await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
  await must(controlPlane, ['create', 'namespace', OPERATOR_NAMESPACE]);
  operator = await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    ownCertificates: true,
    args: [`--kubeconfig=${kubeconfig}`],
  });
  const lists = () => proxy.requests.filter(({ url }) => isPodList(url)).length;
  const isListed = (url: string) => url.startsWith('/api/v1/pods?') && isWatch(url);
  await untilTrue(async () => proxy.requests.filter(({ url }) => isListed(url)).length === 1);
  const bytes = await peak(operator.process.pid);
  process.stderr.write(`${lists()} lists of ${PODS_LISTED} pods: at most ${Math.round(bytes / MIB)} MiB\n`);
  expect(bytes).toBeLessThanOrEqual(PEAK_BYTES);
});
