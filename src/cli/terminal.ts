import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageError } from '../kube/util/usage-error.ts';

/** What a command reads and prints; tests have their own. */
export interface Terminal {
  /** The text of a file; `-` is standard input. */
  read(file: string): Promise<string>;
  out(text: string): void;
  err(text: string): void;
}

export const processTerminal: Terminal = {
  read: (file) => (file === '-' ? text(process.stdin) : readFile(file, 'utf8')),
  out: (line) => {
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', ignoreClosedPipe);
    process.stdout.write(line);
  },
  err: (line) => void process.stderr.write(line),
};

/** Whoever reads may stop before the end, as `head` does. */
function ignoreClosedPipe(err: NodeJS.ErrnoException): void {
  if (err.code !== 'EPIPE') throw err;
}

/** The text of a file, or a UsageError that says why there is none. */
export async function readInput(terminal: Terminal, file: string): Promise<string> {
  try {
    return await terminal.read(file);
  } catch (cause) {
    throw new UsageError(`cannot read ${nameOfInput(file)}: ${reasonOf(cause)}`, { cause });
  }
}

/** How a file is called in messages. */
export function nameOfInput(file: string): string {
  return file === '-' ? '<stdin>' : file;
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'EACCES') return 'permission denied';
  return cause instanceof Error ? cause.message : String(cause);
}

/** 0 fine, 1 findings, 2 usage or failure. */
export type ExitCode = 0 | 1 | 2;
