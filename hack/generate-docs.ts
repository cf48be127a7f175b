import { readFile, writeFile } from 'node:fs/promises';
import { ADD_ONS } from '../src/addons/index.ts';
import { REASONS } from '../src/addons/rollout/core/pod.ts';
import { commandsWith } from '../src/cli/commands.ts';
import { RULES } from '../src/injection/rules/index.ts';

const COMMANDS = commandsWith(ADD_ONS);

/**
 * Writes the parts of docs/ that repeat code: the commands in cli.md, the reasons in reasons.md and rollout.md. They are the runs of
 * lines that match a pattern, in their order. `--check` only compares, and exits 1 if they differ.
 */
const COMMAND = 'node hack/generate-docs.ts';

const PARTS = [
  {
    file: 'docs/cli.md',
    pattern: /(?:^\| \[`.*\n)+/gm,
    parts: [COMMANDS.map(({ name, description }) => `| [\`${name}\`](#${name}) | ${description} |\n`)],
  },
  {
    file: 'docs/reasons.md',
    pattern: /(?:^\| \[`.*\n)+/gm,
    parts: [
      RULES.map(
        ({ reason, help, warn }) => `| [\`${reason}\`](#${reason}) | ${help} | ${warningOf(warn)} |\n`,
      ),
    ],
  },
  {
    file: 'docs/rollout.md',
    pattern: /(?<=\| Reason \| Meaning \|\n\|---\|---\|\n)(?:^\| `.*\n)*/gm,
    parts: [Object.entries(REASONS).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |\n`)],
  },
];

function warningOf(warn: boolean | 'asked'): string {
  if (warn === 'asked') return 'if the pod asked';
  return warn ? 'always' : 'no';
}

async function main(args: readonly string[]): Promise<number> {
  let code = 0;
  for (const { file, pattern, parts } of PARTS) {
    const url = new URL(`../${file}`, import.meta.url);
    const text = await readFile(url, 'utf8');
    const count = text.match(pattern)?.length ?? 0;
    if (count !== parts.length)
      throw new Error(`expected ${parts.length} generated parts in ${file}, got ${count}`);
    const left = parts.map((lines) => lines.join(''));
    const wanted = text.replaceAll(pattern, () => left.shift() ?? '');
    if (!args.includes('--check')) await writeFile(url, wanted);
    else if (wanted !== text) {
      console.error(`${file} does not repeat the code: run \`${COMMAND}\` and commit the result.`);
      code = 1;
    }
  }
  return code;
}

process.exitCode = await main(process.argv.slice(2));
