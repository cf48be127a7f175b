import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { ENVOY_FILES } from '../src/injection/envoy/configurations.ts';

/**
 * Writes the files of the default ConfigMap `envoy` into deploy/envoy, for users who read or apply them by hand.
 * `--check` only compares, and exits 1 if they differ.
 */
const DIRECTORY = new URL('../deploy/envoy/', import.meta.url);
const COMMAND = 'node hack/generate-envoy.ts';

async function main(args: readonly string[]): Promise<number> {
  await mkdir(DIRECTORY, { recursive: true });
  for (const [name, wanted] of Object.entries(ENVOY_FILES)) {
    const file = new URL(name, DIRECTORY);
    if (!args.includes('--check')) await writeFile(file, wanted);
    else if ((await readFile(file, 'utf8').catch(() => '')) !== wanted) {
      console.error(
        `deploy/envoy/${name} does not match src/injection/envoy: run \`${COMMAND}\` and commit the result.`,
      );
      return 1;
    }
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
