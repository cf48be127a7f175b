import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Binaries,
  type BinaryName,
  lookUpBinaries,
  lookUpNodeBinaries,
  type NodeBinaries,
  type NodeBinaryName,
} from './binaries.ts';
import { takeBuildLock } from './build-lock.ts';
import { cacheDirectory, hostTarget, type Target } from './cache-directory.ts';
import { requireDiskSpace } from './disk-space.ts';
import { goBuild } from './go-build.ts';
import { findGo } from './go-toolchain.ts';
import { type PinnedModule, readChosenModule, readPinnedModule } from './pinned-module.ts';
import { type ProgressStream, withProgress } from './progress.ts';
import { startSupervisor } from './supervisor.ts';

/** Everything that says what is built, with what, and into which directory. */
interface BuildContext {
  readonly env: NodeJS.ProcessEnv;
  readonly module: PinnedModule;
  readonly target: Target;
  readonly directory: string;
  readonly progress: ProgressStream;
  /** Asked again once the lock is ours. */
  readonly findMissing: () => readonly Name[];
}

type Name = BinaryName | NodeBinaryName;

/** By import path; the commands of Kubernetes are named after their directory. */
function packageOf(name: Name): string {
  return name === 'etcd' ? 'go.etcd.io/etcd/server/v3' : `k8s.io/kubernetes/cmd/${name}`;
}

/** Begins the names of directories in which something is being built. */
const BUILDING = '.building-';

/** What a build from nothing was seen to add, rounded up; what Go needs meanwhile counts as binaries. */
const GROWTH_BYTES = { buildCache: 2.4e9, moduleCache: 0.9e9, binaries: 1.1e9 };

/** Finds the binaries without building: rejects, saying how to get them, where some are missing. */
export async function findBinaries(env: NodeJS.ProcessEnv): Promise<Binaries> {
  const directory = cacheDirectory(env, await readChosenModule(env), hostTarget());
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
  lookUp: (directory: string) => { readonly binaries: T; readonly missing: readonly Name[] },
): Promise<T> {
  const module = await readChosenModule(env);
  const target = hostTarget();
  const directory = cacheDirectory(env, module, target);
  const findMissing = () => lookUp(directory).missing;
  if (findMissing().length > 0) await build({ env, module, target, directory, progress, findMissing });
  return lookUp(directory).binaries;
}

async function build(context: BuildContext): Promise<void> {
  const { env, module, directory, progress } = context;
  const go = await findGo(env, module.goVersion);
  await requireDiskSpace([
    { setting: 'GOCACHE', path: go.buildCache, bytes: GROWTH_BYTES.buildCache },
    { setting: 'GOMODCACHE', path: go.moduleCache, bytes: GROWTH_BYTES.moduleCache },
    { setting: 'XDG_CACHE_HOME', path: directory, bytes: GROWTH_BYTES.binaries },
  ]);
  await mkdir(directory, { recursive: true });
  const lock = await takeBuildLock(join(directory, '.build.lock'), 'the control plane', progress);
  try {
    // Only a machine that went down leaves these.
    for (const name of await readdir(directory)) {
      if (name.startsWith(BUILDING)) await rm(join(directory, name), { recursive: true });
    }
    // Another process may have built them while we waited.
    await buildEach(context, context.findMissing());
  } finally {
    lock.release();
  }
}

async function buildEach(context: BuildContext, names: readonly Name[]): Promise<void> {
  const { env, module, target, directory, progress } = context;
  const supervisor = await startSupervisor();
  try {
    const ours = await readPinnedModule();
    // In the cache itself: a rename within one file system is atomic, so a binary is there whole or not at all.
    const temporaryDirectory = await supervisor.makeDirectory(join(directory, BUILDING));
    for (const [index, name] of names.entries()) {
      const output = join(temporaryDirectory, name);
      // Each version of Kubernetes runs with the etcd of ours.
      const from = name === 'etcd' ? ours : module;
      const label = `building the control plane, ${index + 1} of ${names.length}, ${name}`;
      await withProgress(progress, label, (detail) =>
        goBuild(
          supervisor,
          { env, module: from, target, name, package: packageOf(name), output, temporaryDirectory },
          detail,
        ),
      );
      await rename(output, join(directory, name));
    }
  } finally {
    await supervisor.stop();
  }
}
