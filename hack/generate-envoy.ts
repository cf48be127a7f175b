import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the files of deploy/envoy, which become the ConfigMap `envoy`, into the module that the program imports. `--check` only
 * compares, and exits 1 if they differ.
 */
const PROJECT = join(import.meta.dirname, '..');
const TARGET = 'src/injection/envoy/files.json';
const COMMAND = 'node hack/generate-envoy.ts';

const directory = join(PROJECT, 'deploy/envoy');
const names = (await readdir(directory)).filter((name) => !/\.(yaml|md)$/.test(name)).sort();
const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
const wanted = `${JSON.stringify(Object.fromEntries(names.map((name, i) => [name, texts[i]])), null, 2)}\n`;
if (!process.argv.includes('--check')) await writeFile(join(PROJECT, TARGET), wanted);
else if ((await readFile(join(PROJECT, TARGET), 'utf8').catch(() => '')) !== wanted) {
  console.error(`${TARGET} does not match deploy/envoy: run \`${COMMAND}\` and commit the result.`);
  process.exitCode = 1;
}
