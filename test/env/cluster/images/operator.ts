import { glob, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from '../../control-plane/cache-directory.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { runCommand } from '../../control-plane/run-command.ts';
import { searchPath } from '../search-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { LAYOUT_TAG } from './oci-layout.ts';

/** What the Dockerfile copies, and itself. */
const INPUTS = [
  'Dockerfile',
  '.npmrc',
  'hack/bundle/*',
  'hack/image/*',
  'package*.json',
  'tsconfig*.json',
  'src/**/*.ts',
];
/** The step of the Dockerfile before which nothing of ours but the list of packages counts. */
const FIRST_OWN_STEP = 'COPY src src';
const TAG = 'localhost/envoy-initializer:latest';
const QUOTED_LINES = 20;

/** Our own sources do not become an image, whatever the machine. */
export class OwnImageError extends Error {
  override readonly name = 'OwnImageError';
}

/** Our own image, as the Dockerfile makes it from a base (an OCI layout) that takes the place of its own. */
export async function operatorImage(base: string): Promise<CachedImage> {
  const inputs: string[] = [base];
  for await (const file of glob(INPUTS, { cwd: projectDirectory() })) inputs.push(file);
  const contents = await Promise.all(inputs.slice(1).map((file) => readFile(join(projectDirectory(), file))));
  return {
    name: 'envoy-initializer',
    key: await imageKey(...inputs.toSorted(), ...contents),
    make: (layout, scratch, detail) => buildOperatorImage(base, layout, scratch, detail),
  };
}

/** Builds it by buildah, which finds and leaves its layers in the storage. */
export async function buildOperatorImage(
  base: string,
  layout: string,
  scratch: string,
  detail: (text: string) => void,
  storage = join(cacheRoot(process.env), 'buildah'),
): Promise<void> {
  const policy = join(scratch, 'policy.json');
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  // buildah makes a name of the path, and so refuses one with a directory like .cache.
  await symlink(base, join(scratch, 'base'));
  const buildah = await prepareBuildah(scratch, storage);
  const trust = ['--signature-policy', policy];
  const { stdout } = await buildah(['pull', '--quiet', ...trust, `oci:base:${LAYOUT_TAG}`]);
  const build = [
    ...['bud', '--layers', '--isolation', 'chroot', '--network', 'host', '--pull-never', ...trust],
    ...['--build-arg', `BASE=${stdout.trim()}`],
    // As `make image` does: of the same sources comes the same image.
    ...['--timestamp', '0'],
  ];
  // The first stage has a name of its own, so that its layers are not pruned: installing packages takes longest.
  detail('npm ci, tsc');
  await buildah([...build, '--target', 'build', '--tag', `${TAG}-build`, projectDirectory()]);
  await buildah([...build, '--tag', TAG, projectDirectory()]);
  detail('exporting');
  const compression = ['--compression-format', 'gzip', '--compression-level', '1'];
  await buildah(['push', '--quiet', ...compression, ...trust, TAG, `oci:${layout}:${LAYOUT_TAG}`]);
  await buildah(['rmi', '--prune', '--force']);
}

/** buildah with its layers in the storage, and what it writes about the system in the scratch directory. */
async function prepareBuildah(scratch: string, storage: string) {
  const temporary = join(scratch, 'tmp');
  await mkdir(temporary);
  const script = join(projectDirectory(), 'test', 'env', 'cluster', 'machine.sh');
  const options = [
    '--root',
    join(storage, 'root'),
    '--runroot',
    join(scratch, 'run'),
    '--storage-driver',
    'overlay',
  ];
  const env = { HOME: scratch, PATH: searchPath(), TMPDIR: temporary };
  return async (args: readonly string[]) => {
    const all = ['--chdir', scratch, 'sh', script, 'overlaid', scratch, 'buildah', ...options, ...args];
    const result = await runCommand('env', all, env, '');
    if (result.code === 0) return result;
    const output = `${result.stdout}${result.stderr}`;
    const end = output.trimEnd().split('\n').slice(-QUOTED_LINES).join('\n');
    const message = `buildah ${args[0]} ended with code ${result.code}:\n${end}`;
    throw output.includes(FIRST_OWN_STEP) ? new OwnImageError(message) : new Error(message);
  };
}
