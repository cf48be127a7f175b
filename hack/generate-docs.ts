import { readFile, writeFile } from 'node:fs/promises';
import { Command, type Option } from 'commander';
import { addNodeAgentOptions } from '../src/cli/node-agent-options.ts';
import { addServeOptions } from '../src/cli/serve-options.ts';
import { RULES } from '../src/sidecar/rules/index.ts';

/**
 * Writes the tables of docs/ that repeat code: the flags in cli.md and the reasons in reasons.md. A table is found by its
 * first line and its place among those with the same. `--check` only compares, and exits 1 if they differ.
 */
const COMMAND = 'node hack/generate-docs.ts';

const serve = addServeOptions(new Command()).options;
const nodeAgent = addNodeAgentOptions(new Command()).options.filter(
  ({ long }) => !serve.some((option) => option.long === long),
);

const FLAGS = '| flag | default | what for |';
const TABLES = [
  {
    file: 'docs/cli.md',
    tables: [
      [FLAGS, ...serve.map(flagRow)],
      [FLAGS, ...nodeAgent.map(flagRow)],
    ],
  },
  {
    file: 'docs/reasons.md',
    tables: [
      [
        '| reason | meaning | warning |',
        ...RULES.map(
          ({ reason, help, warn }) => `| [\`${reason}\`](#${reason}) | ${help} | ${warningOf(warn)} |`,
        ),
      ],
    ],
  },
];

function flagRow({ long, defaultValue, defaultValueDescription, description }: Option): string {
  const value = defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : '');
  return `| \`${long}\` | ${value ? `\`${value}\` ` : ''}| ${description} |`;
}

function warningOf(warn: boolean | 'asked'): string {
  if (warn === 'asked') return 'if the pod asked';
  return warn ? 'always' : 'no';
}

function withTables(text: string, tables: readonly (readonly string[])[]): string {
  const left = [...tables];
  const wanted = text.replaceAll(/^\|.*\n\|---.*\n(?:\|.*\n)*/gm, (old) => {
    const [head = '', ...rows] = left[0] ?? [];
    if (left.length === 0 || !old.startsWith(`${head}\n`)) return old;
    left.shift();
    return `${[head, head.replaceAll(/[^|]+/g, '---'), ...rows].join('\n')}\n`;
  });
  if (left.length > 0) throw new Error(`expected a table that begins with ${left[0]?.[0]}`);
  return wanted;
}

async function main(args: readonly string[]): Promise<number> {
  let code = 0;
  for (const { file, tables } of TABLES) {
    const url = new URL(`../${file}`, import.meta.url);
    const text = await readFile(url, 'utf8');
    const wanted = withTables(text, tables);
    if (!args.includes('--check')) await writeFile(url, wanted);
    else if (wanted !== text) {
      console.error(
        `${file} does not have the tables of the code: run \`${COMMAND}\` and commit the result.`,
      );
      code = 1;
    }
  }
  return code;
}

process.exitCode = await main(process.argv.slice(2));
