import { join } from 'node:path';
import { ensureGoProgram } from '../go/go-program.ts';
import {
  type Binaries,
  type BinaryName,
  lookUpBinaries,
  lookUpNodeBinaries,
  type NodeBinaries,
  type NodeBinaryName,
} from './binaries.ts';
import { cacheDirectory } from './cache-directory.ts';
import { chosenKubernetes, ETCD } from './kubernetes.ts';
import type { ProgressStream } from './progress.ts';

/** Finds the binaries without building: rejects, saying how to get them, where some are missing. */
export async function findBinaries(env: NodeJS.ProcessEnv): Promise<Binaries> {
  const directory = cacheDirectory(env, chosenKubernetes(env));
  const { binaries, missing } = lookUpBinaries(env, directory);
  if (missing.length === 0) return binaries;
  throw new Error(
    `the control plane is not built yet: no ${missing.join(', ')} in ${directory}. ` +
      'Run `node test/env/control-plane/cli.ts build` once (it takes minutes and needs Go), ' +
      'or set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver and kubectl',
  );
}

/** Finds the binaries, and first builds into the cache what is missing there. */
export async function ensureBinaries(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<Binaries> {
  return ensure(env, progress, (directory) => lookUpBinaries(env, directory));
}

/** The same for a node's. */
export async function ensureNodeBinaries(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<NodeBinaries> {
  return ensure(env, progress, lookUpNodeBinaries);
}

async function ensure<T>(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
  lookUp: (directory: string) => {
    readonly binaries: T;
    readonly missing: readonly (BinaryName | NodeBinaryName)[];
  },
): Promise<T> {
  const kubernetes = chosenKubernetes(env);
  const directory = cacheDirectory(env, kubernetes);
  const { binaries, missing } = lookUp(directory);
  for (const name of missing) {
    // The commands of Kubernetes are named after their directory.
    const source =
      name === 'etcd'
        ? { pin: ETCD, package: ETCD.module }
        : { pin: kubernetes, package: `${kubernetes.module}/cmd/${name}` };
    await ensureGoProgram({ name, ...source, path: join(directory, name) }, env, progress);
  }
  return binaries;
}
