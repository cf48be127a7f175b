import type { ProgressStream } from '../control-plane/progress.ts';
import type { Cluster } from './cluster.ts';
import { OwnImageError } from './images/operator.ts';
import { ALL_IMAGES } from './images.ts';
import { clusterObstacle } from './obstacle.ts';
import { prepareCluster } from './prepare.ts';
import { startCluster } from './start-cluster.ts';

/** What a proof is made with; tests have their own. */
export interface ProofSteps {
  readonly obstacle: () => Promise<string | undefined>;
  readonly start: (progress: ProgressStream) => Promise<Pick<Cluster, 'kubectl' | 'stop'>>;
  /** Makes all images that the tests take. */
  readonly prepare: (progress: ProgressStream) => Promise<unknown>;
}

const STEPS: ProofSteps = {
  obstacle: clusterObstacle,
  start: (progress) => startCluster({ images: ['busybox'], progress }),
  prepare: (progress) => prepareCluster({ images: ALL_IMAGES, multus: false }, progress),
};

/**
 * Finds out whether this machine can run a cluster, by running a pod in one. Resolves with what stands in the way, be it
 * packages, mounts, cgroups or a registry that cannot be reached, and undefined where nothing does.
 * @throws OwnImageError when it is this project that is at fault: its own image cannot be built.
 */
export async function proveCluster(
  progress: ProgressStream,
  { obstacle, start, prepare }: ProofSteps = STEPS,
): Promise<string | undefined> {
  const known = await obstacle();
  if (known !== undefined) return known;
  try {
    const cluster = await start(progress);
    try {
      await runPod(cluster);
    } finally {
      await cluster.stop();
    }
    await prepare(progress);
    return undefined;
  } catch (err) {
    if (err instanceof OwnImageError) throw err;
    return err instanceof Error ? err.message : String(err);
  }
}

async function runPod(cluster: Pick<Cluster, 'kubectl'>): Promise<void> {
  const wait = ['wait', 'pod/proof', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s'];
  for (const args of [['run', 'proof', '--image=busybox', '--restart=Never', '--', 'true'], wait]) {
    const { code, stderr } = await cluster.kubectl(args);
    if (code === 0) continue;
    const { stdout } = await cluster.kubectl(['describe', 'pod/proof']);
    throw new Error(`the node runs no pod: ${stderr.trim()}\n${stdout.trim()}`);
  }
}
