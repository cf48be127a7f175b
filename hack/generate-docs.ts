import { readFile, writeFile } from 'node:fs/promises';
import { ADD_ONS } from '../src/addons/index.ts';
import { commandsWith } from '../src/cli/program.ts';
import { RULES } from '../src/injection/rules/index.ts';

/**
 * Writes the parts of docs/ that repeat code: what each command does into cli.md, the reasons that warn into troubleshooting.md.
 * `--check` only compares, and exits 1 if they differ.
 */
const COMMAND = 'node hack/generate-docs.ts';

/** What stands in a document after `before`: lines that match `lines`. */
interface Part {
  readonly file: string;
  readonly before: string;
  readonly lines: RegExp;
  readonly text: string;
}

const PARTS: readonly Part[] = [
  ...commandsWith(ADD_ONS).map(({ name, description }) => ({
    file: 'docs/cli.md',
    before: `\n## ${name}\n\n`,
    lines: /^.*\n/,
    text: `${description.charAt(0).toUpperCase()}${description.slice(1)}.\n`,
  })),
  {
    file: 'docs/troubleshooting.md',
    before: '\nThese reasons cause a warning. The operator reports the first that applies:\n\n',
    lines: /^(?:- .*\n)*/,
    // Nobody looks for the others: nothing was asked for, or all is well.
    text: RULES.filter(({ warn }) => warn !== false)
      .map(({ reason, help }) => `- \`${reason}\`: ${help}\n`)
      .join(''),
  },
];

async function main(args: readonly string[]): Promise<number> {
  let code = 0;
  for (const file of new Set(PARTS.map((part) => part.file))) {
    const url = new URL(`../${file}`, import.meta.url);
    const text = await readFile(url, 'utf8');
    const wanted = PARTS.filter((part) => part.file === file).reduce(withPart, text);
    if (!args.includes('--check')) await writeFile(url, wanted);
    else if (wanted !== text) {
      console.error(`${file} does not repeat the code: run \`${COMMAND}\` and commit the result.`);
      code = 1;
    }
  }
  return code;
}

function withPart(text: string, { file, before, lines, text: part }: Part): string {
  const [head = '', tail, ...more] = text.split(before);
  if (tail === undefined || more.length > 0)
    throw new Error(`expected ${JSON.stringify(before)} once in ${file}`);
  return `${head}${before}${tail.replace(lines, () => part)}`;
}

process.exitCode = await main(process.argv.slice(2));
