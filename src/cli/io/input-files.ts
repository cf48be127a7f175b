import { extname } from 'node:path';
import { type Command, Option } from 'commander';
import { UsageError } from '../../kube/util/usage-error.ts';
import { text } from '../options/option-values.ts';
import { readInput, type Terminal } from './terminal.ts';

/** The flags that name manifests, as in kubectl. */
export interface InputOptions {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
}

/** A text of manifests. */
export interface Input {
  /** The file, for messages. */
  readonly file: string;
  readonly text: string;
  /** Whether a flag names the file itself, and not its directory. */
  readonly isNamed: boolean;
}

/** The files that kubectl takes from a directory. */
const EXTENSIONS: readonly string[] = ['.json', '.yaml', '.yml'];

export function addInputOptions(command: Command, help: string): Command {
  return command
    .addOption(
      new Option(
        '-f, --filename <file>',
        `${help}: files or directories, also separated by commas; - for standard input`,
      ).argParser((list, files: readonly string[] = []) => [...files, ...list.split(',').map(text)]),
    )
    .option('-R, --recursive', 'also read the directories inside those of -f');
}

/** Requires `-f`, but after commander has reported unknown flags. */
export function requireInput(command: Command): void {
  if (command.opts<InputOptions>().filename !== undefined) return;
  command.error("error: option '-f, --filename <file>' is missing: use -f FILE, or -f - for standard input");
}

/** Reads all that the flags name. @throws UsageError */
export async function readInputs(
  terminal: Terminal,
  { filename, recursive = false }: InputOptions,
): Promise<readonly Input[]> {
  const inputs: Input[] = [];
  for (const name of filename ?? []) {
    for (const file of await filesOf(terminal, name, recursive)) {
      inputs.push({ file, text: await readInput(terminal, file), isNamed: file === name });
    }
  }
  return inputs;
}

async function filesOf(terminal: Terminal, name: string, recursive: boolean): Promise<readonly string[]> {
  const listed = name === '-' ? undefined : await terminal.list(name, recursive);
  if (!listed) return [name];
  const files = listed.filter((file) => EXTENSIONS.includes(extname(file)));
  if (files.length > 0) return files;
  throw new UsageError(`the directory ${name} has no file ${EXTENSIONS.join(', ')}: use a file, or -R`);
}
