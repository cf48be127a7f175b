import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { fileProblem, UsageError } from '../../kube/util/errors.ts';
import { PROGRAM } from '../../util/identity.ts';

/** An input is at most this long, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The input and output of a command; tests replace it. */
export interface Terminal {
  /** Reads a file; `-` is standard input. */
  read(file: string): Promise<string>;
  out(text: string): void;
  err(text: string): void;
}

export const processTerminal: Terminal = {
  read: async (file) => decodeText(await bytesOf(file)),
  out: (line) => {
    write(process.stdout, line);
  },
  err: (text) => write(process.stderr, harmless(text)),
};

/** Names in manifests, annotations and answers of pods could hold commands for the terminal. */
export function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\uFFFD');
}

async function bytesOf(file: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes: split the input`);
  }
  return Buffer.concat(chunks);
}

/** A byte order mark stays. @throws Error for other encodings */
function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('it is not UTF-8: save it as UTF-8', { cause });
  }
}

function write(stream: NodeJS.WriteStream, text: string): void {
  if (stream.listenerCount('error') === 0)
    stream.on('error', stream === process.stderr ? () => {} : endUnlessPipeIsClosed);
  stream.write(text);
}

/** A reader such as `head` may close the pipe before the end. Any other error, such as a full disk, ends the process. */
function endUnlessPipeIsClosed({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return;
  process.stderr.write(`error: cannot write the output: ${message}\n`, () => process.exit(2));
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

/** The name in usage and advice for a program that was started by this path: as `kubectl-envoy` it is kubectl's plugin. */
export function programName(path: string | undefined): string {
  return basename(path ?? '') === 'kubectl-envoy' ? 'kubectl envoy' : PROGRAM;
}

/** The name by which the user started this process. */
export const CALLED_AS = programName(process.argv[1]);
