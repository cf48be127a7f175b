import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { ENVOY_CONFIGURATIONS } from '../src/envoy/configurations.ts';

/**
 * Writes the configurations of Envoy that come with the operator into deploy/envoy, for those who read or apply them by
 * hand; `--check` only compares and exits 1 where they differ.
 */
const DIRECTORY = new URL('../deploy/envoy/', import.meta.url);
const COMMAND = 'node hack/generate-envoy.ts';

async function main(args: readonly string[]): Promise<number> {
  await mkdir(DIRECTORY, { recursive: true });
  for (const [name, configuration] of Object.entries(ENVOY_CONFIGURATIONS)) {
    const [file, wanted] = [new URL(name, DIRECTORY), `${JSON.stringify(configuration, null, 2)}\n`];
    if (!args.includes('--check')) await writeFile(file, wanted);
    else if ((await readFile(file, 'utf8').catch(() => '')) !== wanted) {
      console.error(
        `deploy/envoy/${name} is not what src/envoy makes: run \`${COMMAND}\` and commit the result.`,
      );
      return 1;
    }
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
