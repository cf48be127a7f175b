import { readFile, writeFile } from 'node:fs/promises';
import { Command, type Option } from 'commander';
import { COMMANDS } from '../src/cli/commands.ts';
import { addInputOptions } from '../src/cli/io/input-files.ts';
import { processTerminal } from '../src/cli/io/terminal.ts';
import { serveOption } from '../src/cli/options/serve-options.ts';
import { addClusterOptions, addScopeOptions } from '../src/cli/options/tool-options.ts';
import { REASONS } from '../src/rollout/core/pod.ts';
import { RULES } from '../src/sidecar/rules/index.ts';

/**
 * Writes the parts of docs/ that repeat code: the commands and flags in cli.md, the reasons in reasons.md and rollout.md. They are the runs of
 * lines that match a pattern, in their order. `--check` only compares, and exits 1 if they differ.
 */
const COMMAND = 'node hack/generate-docs.ts';

/** The flags of many commands, which docs/cli.md lists once. */
const shared = addClusterOptions(addInputOptions(addScopeOptions(new Command(), 'pods'), 'manifests'))
  .addOption(serveOption('initializer-name'))
  .addOption(serveOption('require-annotation')).options;

async function optionsOf(name: string, others: readonly Option[]): Promise<readonly Option[]> {
  const command = new Command(name);
  const entry = COMMANDS.find((each) => each.name === name);
  await entry?.load(command, { terminal: processTerminal, ended: () => {} });
  return command.options.filter(({ long }) => !others.some((option) => option.long === long));
}

const CLI = 'docs/cli.md';
const serve = await optionsOf('serve', []);
const flags = [shared];
// In the order of the page, and only of commands with flags of their own.
for (const [, name = ''] of (await readFile(new URL(`../${CLI}`, import.meta.url), 'utf8')).matchAll(
  /^## ([a-z-]+)$/gm,
)) {
  const own = name === 'serve' ? serve : await optionsOf(name, name === 'node-agent' ? serve : shared);
  if (own.length > 0) flags.push(own);
}

const PARTS = [
  {
    file: CLI,
    pattern: /(?:^- `-.*\n)+/gm,
    parts: flags.map((options) => options.map(flagLine)),
  },
  {
    file: CLI,
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

function flagLine({ short, long, argChoices, defaultValue, defaultValueDescription, description }: Option) {
  const names = [short, long].flatMap((name) => (name ? [`\`${name}\``] : [])).join(', ');
  const choices = argChoices ? `: ${argChoices.join(', ')}` : '';
  const value = defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : '');
  return `- ${names}${value ? ` (\`${value}\`)` : ''}: ${description}${choices}\n`;
}

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
