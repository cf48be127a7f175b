import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { NetworkSoak } from '../../support/network/network-soak.ts';
import { randomNumbers, SOAK_NAMESPACES } from '../../support/network/soak-world.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

/** `make soak-networks` gives it more of each. */
const seconds = Number(process.env.SOAK_SECONDS ?? 10);
const count = Number(process.env.SOAK_NETWORKS ?? 100);
const kills = Number(process.env.SOAK_KILLS ?? 2);
const seed = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

jest.setTimeout((seconds + 600) * 1000);

let fixture: OperatorFixture;
let transport: Transport;

/** However slow the machine is: rejects with what is left when for a minute nothing has become less or other. */
async function untilNone(what: string, left: () => Promise<readonly string[]>): Promise<void> {
  let seen = '';
  for (let since = performance.now(); ; await pause(500)) {
    const now = await left();
    if (now.length === 0) return;
    if (now.join() !== seen) since = performance.now();
    seen = now.join();
    if (performance.now() - since > 60_000) {
      throw new Error(`${now.length} ${what} are left:\n${now.slice(0, 20).join('\n')}`);
    }
  }
}

beforeAll(async () => {
  // Each life of the operator is to begin at once, not when the lease of the one before has run out.
  fixture = await startOperatorFixture({ args: ['--leader-elect=false'] });
  const kubeconfig = fixture.controlPlane.kubeconfigPath;
  transport = new Transport(loadKubeConfig({ kubeconfig, master: undefined }), systemClock);
  for (const namespace of SOAK_NAMESPACES) await fixture.kubectl('create', 'namespace', namespace);
}, 600_000);

afterAll(async () => {
  await transport?.close();
  await fixture?.stop();
});

test(`${count} Networks created, changed and deleted at random for ${seconds} s while the operator is killed ${kills} times converge, and leave nothing behind (SOAK_SEED=${seed})`, async () => {
  const soak = new NetworkSoak(new KubeClient({ transport, clock: systemClock }), count, seed);
  await soak.prepare();
  const random = randomNumbers(seed + 1);
  const end = new AbortController();
  const users = soak.run(end.signal);
  for (let life = 0; life <= kills; life++) {
    await pause(((0.5 + random()) * seconds * 1000) / (kills + 1));
    if (life === kills) break;
    process.kill(fixture.operator.process.pid, 'SIGKILL');
    await fixture.operator.restart();
  }
  end.abort();
  await users;
  await soak.createAll();
  await untilNone('faults', () => soak.faults());
  expect(soak.refused).toBeGreaterThan(0);
  await soak.deleteAll();
  await untilNone('Networks', () => soak.names());
  expect(await soak.faults()).toEqual([]);
});
