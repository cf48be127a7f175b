import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../src/networks/api/resources.ts';
import { eventually } from '../env/eventually.ts';
import type { Measurement } from './measurement.ts';
import { NAMESPACE, User } from './networks.ts';
import { pin, SERVER_CORE } from './pinned.ts';
import { progress } from './progress.ts';
import { type Written, writeRaw } from './raw-client.ts';
import { type BenchSettings, part } from './settings.ts';
import { ALONE, type Stage, setStage } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** The default of --workers. */
const WORKERS = 2;

/**
 * So many Networks to Ready, beside a raw client's writes: as many parts as runs, ours and the floor's by turns, each in a
 * control plane of its own. A part of ours is from when the operator starts, with new Networks there and those of the
 * parts before, to when all are Ready.
 */
export async function readyBench({ runs, networks }: BenchSettings): Promise<readonly Measurement[]> {
  return await withStage(async (raw) => {
    const sample = await sampleOf(raw.user);
    await endOperator(raw.stage);
    return await withStage(async ({ stage, user }) => {
      await endOperator(stage);
      const { untilReady, end } = user.watchReady();
      const [ours, floor]: [number[], number[]] = [[], []];
      for (let run = 0; run < runs; run++) {
        const [from, to] = part(networks, run, runs);
        for (const each of [raw.user, user]) await each.createNetworks(from, to);
        floor.push(
          await secondsOf(() => writeRaw(raw.stage.controlPlane, { from, to, workers: WORKERS }, sample)),
        );
        ours.push(
          await secondsOf(async () => {
            await stage.operator.restart();
            pin(stage.operator.process.pid, SERVER_CORE);
            await untilReady(to);
          }),
        );
        await endOperator(stage);
        progress(`  ${to} Networks are Ready`);
      }
      await end();
      return [
        {
          name: `${networks} Networks to Ready`,
          unit: 's',
          ours: summarise([sum(ours)]),
          floor: summarise([sum(floor)]),
          ratio: summarise(ratios(ours, floor)),
          bound: { most: 3 },
        },
      ];
    });
  });
}

async function withStage<T>(work: (on: { stage: Stage; user: User }) => Promise<T>): Promise<T> {
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  try {
    return await work({ stage, user });
  } finally {
    await user.close();
    await stage.stop();
  }
}

async function endOperator({ operator }: Stage): Promise<void> {
  operator.process.kill();
  await operator.process.exited;
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** What the operator makes of one Network, which is gone again afterwards. */
async function sampleOf(user: User): Promise<Written> {
  const ref = { namespace: NAMESPACE, name: 'network-0' };
  const { untilReady, end } = user.watchReady();
  await user.createNetworks(0, 1);
  await untilReady(1);
  await end();
  const network = await user.client.get(NETWORKS, ref);
  const attachment = await user.client.get(NETWORK_ATTACHMENT_DEFINITIONS, ref);
  await user.client.delete(NETWORKS, ref);
  await eventually('the sample is gone', async () => {
    const left = await user.client.list(NETWORK_ATTACHMENT_DEFINITIONS, { namespace: NAMESPACE });
    return (
      left.items.length + (await user.client.list(NETWORKS, { namespace: NAMESPACE })).items.length === 0
    );
  });
  return { network, attachment };
}
