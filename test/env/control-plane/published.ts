import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureGoProgram } from '../go/go-program.ts';
import { pinOf } from '../go/pins.ts';
import { type Binaries, lookUpBinaries } from './binaries.ts';
import { ensureBinaries } from './build.ts';
import { cacheDirectory, cacheRoot } from './cache-directory.ts';
import { chosenKubernetes } from './kubernetes.ts';
import { type ProgressStream, withProgress } from './progress.ts';
import { runCommand } from './run-command.ts';

/** What envtest publishes, as setup-envtest reads it. ENVTEST_INDEX names another such list. */
const INDEX = 'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml';
/** A network that drops packets must not hold up the build. */
const REACH_MS = 5_000;
/** `timeout` ends a download that makes no progress. */
const DOWNLOAD_SECONDS = '300';

/**
 * The binaries of the demo: those that are there, else those that envtest publishes for this minor version of Kubernetes,
 * else what is built here. Tests take built ones only, whose version is exact and whose source is pinned. setup-envtest
 * compares the SHA-512 of what it downloads with the list's.
 */
export async function quickBinaries(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
  build = ensureBinaries,
): Promise<Binaries> {
  const kubernetes = chosenKubernetes(env);
  const { binaries, missing } = lookUpBinaries(env, cacheDirectory(env, kubernetes));
  if (missing.length === 0) return binaries;
  const minor = kubernetes.version.slice(1).split('.', 2).join('.');
  const index = env.ENVTEST_INDEX || INDEX;
  progress.write(`This machine has no Kubernetes ${minor} for the demo yet.\n`);
  try {
    await reach(index);
    progress.write(`envtest publishes binaries: downloading them takes about a minute, once.\n`);
    const assets = await download(`${minor}.x!`, index, env, progress);
    return lookUpBinaries({ KUBEBUILDER_ASSETS: assets }, '').binaries;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    progress.write(`No published binaries: ${reason}.\n`);
    progress.write(`Building ${missing.join(', ')} takes about five minutes, once.\n`);
    return await build(env, progress);
  }
}

async function reach(index: string): Promise<void> {
  const response = await fetch(index, { signal: AbortSignal.timeout(REACH_MS) }).catch((cause: unknown) => {
    throw new Error(`cannot reach ${index}`, { cause });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${index} answers ${response.status}`);
}

/** Resolves to the directory of the binaries. */
async function download(
  version: string,
  index: string,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const pin = pinOf('sigs.k8s.io/controller-runtime/tools/setup-envtest');
  const program = await ensureGoProgram({ name: 'setup-envtest', package: pin.module, pin }, env, progress);
  const directory = join(cacheRoot(env), 'envtest');
  await mkdir(directory, { recursive: true });
  const args = ['use', version, '--print=path', `--index=${index}`, `--bin-dir=${directory}`];
  const { code, stdout, stderr } = await withProgress(progress, `downloading Kubernetes ${version}`, () =>
    runCommand('timeout', [DOWNLOAD_SECONDS, program, ...args], env, ''),
  );
  if (code === 0) return stdout.trim();
  const last = stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(`setup-envtest ended with ${code}: ${last}`);
}
