import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes files of deploy into modules that the program imports, as the data of the ConfigMaps that the operator creates. `--check`
 * only compares, and exits 1 if they differ.
 */
const PROJECT = join(import.meta.dirname, '..');
const COMMAND = 'node hack/generate-envoy.ts';
const ENVOY = join(PROJECT, 'deploy/envoy');

const names = (await readdir(ENVOY)).filter((name) => !/\.(yaml|md)$/.test(name)).sort();
await write(
  'src/injection/envoy/files.json',
  names.map((name) => [name, join(ENVOY, name)]),
);
await write('src/injection/webhook/default-template.json', [
  ['config', join(PROJECT, 'deploy/default-template.yaml')],
]);

async function write(
  target: string,
  files: readonly (readonly [key: string, file: string])[],
): Promise<void> {
  const data = await Promise.all(files.map(async ([key, file]) => [key, await readFile(file, 'utf8')]));
  const wanted = `${JSON.stringify(Object.fromEntries(data), null, 2)}\n`;
  if (!process.argv.includes('--check')) return await writeFile(join(PROJECT, target), wanted);
  if ((await readFile(join(PROJECT, target), 'utf8').catch(() => '')) === wanted) return;
  console.error(`${target} does not match deploy: run \`${COMMAND}\` and commit the result.`);
  process.exitCode = 1;
}
