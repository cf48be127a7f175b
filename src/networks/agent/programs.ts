import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs programs. If one fails, its promise rejects with its standard error. */
export interface Programs {
  /** Runs a program with this input. Resolves with its standard output. */
  readonly run: (program: string, args: readonly string[], input?: string) => Promise<string>;
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** In memory, and writable in a container whose root is not. */
const OUTPUTS = '/dev/shm';

/**
 * Runs a program of this file system, and reads its output from a file: `bridge` writes thousands of small pieces, and to read each from a
 * pipe costs more than all else.
 */
export const run: Programs['run'] = async (program, args, input = '') => {
  const path = join(OUTPUTS, randomUUID());
  const output = await open(path, 'wx+', 0o600);
  try {
    await rm(path);
    const child = spawn(program, args, { env: { PATH }, stdio: ['pipe', output.fd, 'pipe'] });
    // A program that ends without reading all input reports the reason on stderr.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    const [code, stderr] = await Promise.all([ended, child.stderr ? text(child.stderr) : '']);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim()}`);
    const { size } = await output.stat();
    const { buffer } = await output.read(Buffer.alloc(size), 0, size, 0);
    return buffer.toString();
  } finally {
    await output.close();
  }
};

/** Lines for a batch of one bridge. */
export interface BatchPart {
  readonly bridge: string;
  readonly lines: readonly string[];
}

/** With -force, iproute2 goes on after a failure, and names the line. */
const FAILURE = /(.*)\nCommand failed -:(\d+)/g;

/**
 * Lines whose aim another program has reached since the node was read: CNI's plugin makes the bridge, too, and the kernel
 * forgets what it has learned.
 */
const REACHED: readonly (readonly [line: RegExp, why: RegExp])[] = [
  [/^(link add name \S+ type bridge$|address add )/, /File exists|address already assigned/i],
  [
    /^(link|address|fdb) delete /,
    /No such file or directory|Cannot find device|Cannot assign requested|address not found/i,
  ],
];

/**
 * Runs all lines in one call of `ip` or `bridge`. Resolves with the first failure of each bridge. A failure does not
 * hold up the lines of other bridges. A line whose aim is already reached does not fail.
 */
export async function runBatch(
  runProgram: Programs['run'],
  program: 'ip' | 'bridge',
  parts: readonly BatchPart[],
): Promise<ReadonlyMap<string, string>> {
  const lines = parts.flatMap(({ bridge, lines: all }) => all.map((line) => ({ bridge, line })));
  const failures = new Map<string, string>();
  if (lines.length === 0) return failures;
  const input = lines.map(({ line }) => `${line}\n`).join('');
  try {
    await runProgram(program, ['-force', '-batch', '-'], input);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const found = Array.from(message.matchAll(FAILURE));
    for (const [, words = '', number] of found) {
      const failed = lines[Number(number) - 1];
      const why = words.replace(/^.* ended with \d+: /, '');
      if (!failed || failures.has(failed.bridge)) continue;
      if (REACHED.some(([line, reason]) => line.test(failed.line) && reason.test(why))) continue;
      failures.set(failed.bridge, `${program} ${failed.line}: ${why}`);
    }
    // Not of a line, for example: there is no such program.
    if (found.length === 0) for (const { bridge } of lines) failures.set(bridge, message);
  }
  return failures;
}
