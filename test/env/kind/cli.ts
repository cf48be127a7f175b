import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { sweepMachines } from '../cluster/machine.ts';
import { clusterObstacle } from '../cluster/obstacle.ts';
import { runCli } from '../run-cli.ts';
import { installCommands } from './docs-commands.ts';
import { KeptCluster } from './kept-cluster.ts';
import { kindObstacle, startKind } from './kind.ts';
import { OwnKind } from './own.ts';

const USAGE = `usage: node test/env/kind/cli.ts prove|up|down

  prove  make all that a cluster of kind is made of, and a cluster of one node; print what stands in the way, if anything does
  up     make a cluster of kind with the operator in it, by the commands of docs/install.md; print how to reach it. With
         Docker, kind and kubectl here it is kind's own; else all of it is made from Debian's packages and Go modules
  down   end that cluster, and remove what one that crashed has left

Environment: KIND_NODES=2 for two nodes; KIND_NETWORKS=1 for the overlay kind, which has Multus.
`;

interface Ready {
  /** What to type into a shell to reach it. */
  readonly exports: readonly string[];
  readonly logs: string;
}

const nodes = Number(process.env.KIND_NODES ?? 1);
const networks = Boolean(process.env.KIND_NETWORKS);
const kept = new KeptCluster<Ready>('kind');

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Obstacles are the answer, not a failure of this program, unless E2E_REQUIRED says so. */
async function prove(): Promise<void> {
  const obstacle = await kindObstacle({ networks: true });
  if (obstacle === undefined) return;
  const frame = '!'.repeat(79);
  say(`${frame}\nNO CLUSTER OF KIND, since there can be none here:\n${obstacle}\n${frame}`);
  if (process.env.E2E_REQUIRED) process.exitCode = 1;
  process.stdout.write(`${obstacle.split('\n')[0]}\n`);
}

async function up(): Promise<void> {
  if (await upOnOwnDocker()) return;
  const obstacle = await clusterObstacle();
  if (obstacle !== undefined) throw new Error(`no cluster of kind can run here: ${obstacle}`);
  const before = kept.find()?.ready;
  if (before !== undefined) say('a cluster of kind runs already');
  const show = (text: string) => process.stderr.write(text);
  const ready = before ?? (await kept.start(fileURLToPath(import.meta.url), show));
  say(`The cluster is ready, its logs in ${ready.logs}. \`make kind-down\` ends it and removes all of it.`);
  process.stdout.write(`${ready.exports.join('\n')}\n`);
}

const own = new OwnKind('envoy-initializer', process.env, say);

/** On the user's Docker; false where it cannot be, such as without the registry of kind's node images. */
async function upOnOwnDocker(): Promise<boolean> {
  const obstacle = await own.obstacle();
  if (obstacle !== undefined) {
    say(`Not on your own Docker, since ${obstacle}`);
    return false;
  }
  try {
    await own.install(nodes, networks);
  } catch (err) {
    say(`Not on your own Docker: ${err instanceof Error ? err.message : String(err)}`);
    return false;
  }
  say('The cluster is ready. `make kind-down` removes it.');
  process.stdout.write(`export KUBECONFIG=${own.kubeconfig}\n`);
  return true;
}

/** Holds a cluster until SIGTERM. Until it is up, a signal simply ends this program: supervisors tidy up after it. */
async function keep(): Promise<void> {
  const keeping = kept.keep();
  if (keeping === undefined) throw new Error('another program keeps a cluster of kind');
  try {
    const kind = await startKind({ nodes, networks });
    try {
      await install(kind);
      const told = Promise.race(['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal)));
      const { bin, env } = kind.workbench;
      const exports = ['KUBECONFIG', 'DOCKER_HOST'].map((name) => `export ${name}=${env[name]}`);
      keeping.tell({ exports: [...exports, `export PATH=${bin}:$PATH`], logs: kind.logs });
      const failure = await Promise.race([kind.failure, told.then(() => undefined)]);
      if (failure !== undefined) throw failure;
    } finally {
      await kind.stop();
    }
  } finally {
    keeping.end();
  }
}

async function install(kind: Awaited<ReturnType<typeof startKind>>): Promise<void> {
  for (const command of await installCommands(networks)) {
    const began = performance.now();
    say(`$ ${command}`);
    const { code, stdout } = await kind.type(command);
    say(`${stdout.trim()}\n(${((performance.now() - began) / 1000).toFixed(1)} s)`);
    if (code !== 0) throw new Error(`${command} ended with code ${code}`);
  }
}

async function down(): Promise<void> {
  const onOwn = (await own.obstacle()) === undefined && (await own.runs());
  if (onOwn) await own.remove();
  const ended = (await kept.end()) || onOwn;
  await sweepMachines();
  say(ended ? 'the cluster has ended' : 'no cluster of kind runs');
}

await runCli({ prove, up, down, keep }, USAGE);
