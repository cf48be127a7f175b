import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellExports } from '../control-plane/shell-exports.ts';
import { runCli } from '../run-cli.ts';
import { ALL_IMAGES } from './images.ts';
import { KeptCluster } from './kept-cluster.ts';
import { insideMachine, sweepMachines } from './machine.ts';
import { ensureMultus } from './multus/multus.ts';
import { type Extras, prepareCluster } from './prepare.ts';
import { proveCluster } from './prove.ts';
import { replaceImage } from './replace-image.ts';
import { startCluster } from './start-cluster.ts';

const USAGE = `usage: node test/env/cluster/cli.ts prove|up|down

  prove  make all that a cluster is made of, and run a pod on one; print what stands in the way, if anything does
  up     the same, then start a cluster that stays, or bring new images to the one that does; print how to reach it
  down   end that cluster, and remove what one that crashed has left
`;

/** What another program is to know of the cluster that is kept. */
interface Ready {
  readonly kubeconfigPath: string;
  readonly logs: string;
  /** The directory of the node's registry. */
  readonly images: string;
  /** Of the machine's first process. */
  readonly machinePid: number;
}

const kept = new KeptCluster<Ready>('cluster');

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** What the demo and `deploy/` need; Multus only where it can be had, for a cluster is of use without it. */
async function extras(): Promise<Extras> {
  const multus = await ensureMultus(process.env, process.stderr).then(
    () => true,
    (err: unknown) => {
      say(`NO MULTUS, so no pod will be attached to a Network: ${err instanceof Error ? err.message : err}`);
      return false;
    },
  );
  return { images: ALL_IMAGES, multus };
}

/** Obstacles are the answer, not a failure of this program, unless E2E_REQUIRED says so. */
async function prove(): Promise<void> {
  if (process.env.E2E_KUBECONFIG)
    return say(`no node of our own: tests run on E2E_KUBECONFIG=${process.env.E2E_KUBECONFIG}`);
  const obstacle = await proveCluster(process.stderr);
  if (obstacle === undefined) return;
  const frame = '!'.repeat(79);
  say(`${frame}\nNO TESTS ON A REAL NODE, since there can be none here:\n${obstacle}\n${frame}`);
  if (process.env.E2E_REQUIRED) process.exitCode = 1;
  process.stdout.write(`${obstacle.split('\n')[0]}\n`);
}

async function up(): Promise<void> {
  const { layouts } = await prepareCluster(await extras(), process.stderr);
  const before = kept.find()?.ready;
  if (before === undefined) say('starting a cluster of one node');
  else {
    const machine = insideMachine(before.machinePid);
    for (const [name, layout] of layouts) await replaceImage(machine, before.images, name, layout);
  }
  const ready = before ?? (await kept.start(fileURLToPath(import.meta.url)));
  say(
    `The cluster is ready, its logs in ${ready.logs}. \`make cluster-down\` ends it and removes all of it.`,
  );
  process.stdout.write(`${(await shellExports(ready.kubeconfigPath)).join('\n')}\n`);
}

/** Holds a cluster until SIGTERM. */
async function keep(): Promise<void> {
  const keeping = kept.keep();
  if (keeping === undefined) throw new Error('another program keeps a cluster');
  try {
    const told = Promise.race(['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal)));
    const cluster = await startCluster({ ...(await extras()), log: say });
    const { kubeconfigPath, images, machine } = cluster;
    const logs = join(machine.directory, 'logs');
    keeping.tell({ kubeconfigPath, logs, images, machinePid: machine.pid });
    const failure = await Promise.race([cluster.failure, told.then(() => undefined)]);
    await cluster.stop();
    if (failure !== undefined) throw failure;
  } finally {
    keeping.end();
  }
}

async function down(): Promise<void> {
  const ended = await kept.end();
  await sweepMachines();
  say(ended ? 'the cluster has ended' : 'no cluster runs');
}

await runCli({ prove, up, down, keep }, USAGE);
