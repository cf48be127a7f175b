import { eventually } from '../../hack/eventually.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../src/network/resources.ts';
import type { Measurement } from './measurement.ts';
import { NAMESPACE, User } from './networks.ts';
import { pin, SERVER_CORE } from './pinned.ts';
import { type Written, writeRaw } from './raw-client.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, type Stage, setStage } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** The default of --workers. */
const WORKERS = 2;

/** From when the operator starts, with so many new Networks there, to when all are Ready; beside a raw client's writes. */
export async function readyBench({ runs, networks }: BenchSettings): Promise<readonly Measurement[]> {
  const [ours, floor]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    floor.push(
      await withNetworks(networks, (stage, sample) =>
        writeRaw(stage.controlPlane, networks, WORKERS, sample),
      ),
    );
    ours.push(
      await withNetworks(networks, async (stage, _, user) => {
        const { untilReady, end } = user.watchReady();
        await stage.operator.restart();
        pin(stage.operator.process.pid, SERVER_CORE);
        await untilReady(networks);
        await end();
      }),
    );
  }
  return [
    {
      name: `${networks} Networks to Ready`,
      unit: 's',
      ours: summarise(ours),
      floor: summarise(floor),
      ratio: summarise(ratios(ours, floor)),
      bound: { most: 3 },
    },
  ];
}

/** The seconds that the work takes in a control plane with so many new Networks, and an operator that has ended. */
async function withNetworks(
  count: number,
  work: (stage: Stage, sample: Written, user: User) => Promise<void>,
): Promise<number> {
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  try {
    const sample = await sampleOf(user);
    stage.operator.process.kill();
    await stage.operator.process.exited;
    await user.createNetworks(0, count);
    const start = performance.now();
    await work(stage, sample, user);
    return (performance.now() - start) / 1000;
  } finally {
    await user.close();
    await stage.stop();
  }
}

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
