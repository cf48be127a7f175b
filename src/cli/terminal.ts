import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageError } from '../kube/util/usage-error.ts';

/** The input and output of a command; tests replace it. */
export interface Terminal {
  /** Reads a file; `-` is standard input. */
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

/** A reader such as `head` may close the pipe before the end. */
function ignoreClosedPipe(err: NodeJS.ErrnoException): void {
  if (err.code !== 'EPIPE') throw err;
}

/** Reads a file. @throws UsageError that says why it is not readable. */
export async function readInput(terminal: Terminal, file: string): Promise<string> {
  try {
    return await terminal.read(file);
  } catch (cause) {
    throw new UsageError(`cannot read ${nameOfInput(file)}: ${reasonOf(cause)}`, { cause });
  }
}

/** The name of a file in messages. */
export function nameOfInput(file: string): string {
  return file === '-' ? '<stdin>' : file;
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return 'the file does not exist';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'EACCES') return 'permission denied';
  return cause instanceof Error ? cause.message : String(cause);
}

/** 0: success, 1: findings, 2: usage error or failure. */
export type ExitCode = 0 | 1 | 2;
