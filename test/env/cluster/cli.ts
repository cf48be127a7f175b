import type { ProgressStream } from '../control-plane/progress.ts';
import { runCli } from '../run-cli.ts';
import type { Cluster } from './cluster.ts';
import { OwnImageError } from './images/operator.ts';
import { ALL_IMAGES } from './images.ts';
import { clusterObstacle } from './obstacle.ts';
import { prepareCluster } from './prepare.ts';
import { startCluster } from './start-cluster.ts';

/**
 * Finds out whether this machine can run a cluster, by running a pod in one. Resolves with what stands in the way, be it
 * packages, mounts, cgroups or a registry that cannot be reached, and undefined where nothing does.
 * @throws OwnImageError when it is this project that is at fault: its own image cannot be built.
 */
async function proveCluster(progress: ProgressStream): Promise<string | undefined> {
  const known = await clusterObstacle();
  if (known !== undefined) return known;
  try {
    const cluster = await startCluster({ images: ['busybox'], progress });
    try {
      await runPod(cluster);
    } finally {
      await cluster.stop();
    }
    // All images that the tests take.
    await prepareCluster({ images: ALL_IMAGES, multus: false }, progress);
    return undefined;
  } catch (err) {
    if (err instanceof OwnImageError) throw err;
    return err instanceof Error ? err.message : String(err);
  }
}

async function runPod(cluster: Cluster): Promise<void> {
  const wait = ['wait', 'pod/proof', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s'];
  for (const args of [['run', 'proof', '--image=busybox', '--restart=Never', '--', 'true'], wait]) {
    const { code, stderr } = await cluster.kubectl(args);
    if (code === 0) continue;
    const { stdout } = await cluster.kubectl(['describe', 'pod/proof']);
    throw new Error(`the node runs no pod: ${stderr.trim()}\n${stdout.trim()}`);
  }
}

const USAGE = `usage: node test/env/cluster/cli.ts prove

  prove  make all that a cluster is made of, and run a pod on one; print what stands in the way, if anything does
`;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
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

await runCli({ prove }, USAGE);
