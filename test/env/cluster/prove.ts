import type { ProgressStream } from '../control-plane/progress.ts';
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
export async function proveCluster(progress: ProgressStream): Promise<string | undefined> {
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
