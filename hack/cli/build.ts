import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { Refusal, run } from '../release/run.ts';
import { bundle } from './bundle.ts';
import { goArch, krewManifest } from './krew.ts';

/**
 * Writes the command line as one executable for this platform, its archive, and the manifest for krew, and prints their
 * paths: `node hack/cli/build.ts [--output DIRECTORY] [--url URL]`. The URL is of the directory that the archive will be in.
 */
const NAME = 'envoy-initializer';
/** Krew's index wants the name of the plugin. */
const MANIFEST = 'envoy.yaml';
const project = projectDirectory();

/** Makes a single executable of this Node.js and the program. */
async function writeExecutable(module: string, output: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), `${NAME}-sea-`));
  const main = join(directory, 'main.mjs');
  const config = join(directory, 'sea.json');
  // The cache halves the CPU time of a start.
  const settings = {
    main,
    mainFormat: 'module',
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
  };
  try {
    await writeFile(main, module);
    await writeFile(config, JSON.stringify(settings));
    await run(process.execPath, ['--build-sea', config]);
    // macOS runs no program whose signature does not fit.
    if (process.platform === 'darwin') await run('codesign', ['--sign', '-', '--force', output]);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { output, url } = parseArgs({
    args: [...args],
    options: {
      output: { type: 'string', default: join(project, 'out/cli') },
      url: { type: 'string', default: 'https://example.com' },
    },
  }).values;
  if (URL.parse(url)?.protocol !== 'https:')
    throw new Refusal(`URL=${url} is not where krew can load the archive: write URL=https://…`);
  const { version } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
  const { platform, arch } = process;
  const archive = `${NAME}-${version}-${platform}-${goArch(arch)}.tar.gz`;
  const files = [NAME, 'LICENSE', 'LICENSE-node', 'LICENSES-packages'] as const;
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });

  const { module, licenses } = await bundle();
  await writeExecutable(module, join(output, NAME));
  await cp(join(project, 'LICENSE'), join(output, 'LICENSE'));
  await cp(join(process.execPath, '../../LICENSE'), join(output, 'LICENSE-node'));
  await writeFile(join(output, 'LICENSES-packages'), licenses);
  await run('tar', ['-czf', join(output, archive), '-C', output, ...files]);
  const sha256 = createHash('sha256')
    .update(await readFile(join(output, archive)))
    .digest('hex');
  const uri = `${url.replace(/\/$/, '')}/${archive}`;
  await writeFile(join(output, MANIFEST), krewManifest(version, NAME, [{ platform, arch, uri, sha256 }]));
  for (const name of [NAME, archive, MANIFEST]) console.log(join(output, name));
}

try {
  await main(process.argv.slice(2));
} catch (err) {
  if (!(err instanceof Refusal)) throw err;
  console.error(err.message);
  process.exitCode = 1;
}
