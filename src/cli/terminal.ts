import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileProblem } from '../kube/util/file-problem.ts';
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
  let content: string;
  try {
    content = await terminal.read(file);
  } catch (cause) {
    throw new UsageError(`cannot read ${nameOfInput(file)}: ${fileProblem(cause)}`, { cause });
  }
  if (content.includes('\0')) throw new UsageError(`${nameOfInput(file)} is a binary file: use YAML or JSON`);
  return content;
}

/** The name of a file in messages. */
export function nameOfInput(file: string): string {
  return file === '-' ? '<stdin>' : file;
}

/** 0: success, 1: findings, 2: usage error or failure. */
export type ExitCode = 0 | 1 | 2;
