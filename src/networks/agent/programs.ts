import { execFile } from 'node:child_process';
import { toError } from '../../kube/util/errors.ts';

/** Runs a program, and resolves with its output. If it fails, the promise rejects with its standard error. */
export type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<string>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Of `bridge fdb show`, with a million entries. */
const MAX_OUTPUT = 128 * 2 ** 20;

export const run: RunProgram = (program, args, input = '') =>
  new Promise((resolve, reject) => {
    const options = { env: { PATH }, maxBuffer: MAX_OUTPUT };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else if (typeof error.code !== 'number') reject(error);
      else reject(new Error(`${program} ${args.join(' ')} returned ${error.code}: ${stderr.trim()}`));
    });
    // A program that ends without reading all input reports the reason on stderr.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });

export interface BatchPart {
  readonly bridge: string;
  readonly lines: readonly string[];
}

/** With -force, iproute2 goes on after a failure, and names the line. */
const FAILURE = /(.*)\nCommand failed -:(\d+)/g;

/**
 * Runs all lines in one call of `ip` or `bridge`. Resolves with the first failure of each bridge. A failure does not
 * hold up the lines of other bridges.
 */
export async function runBatch(
  runProgram: RunProgram,
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
    const message = toError(error).message;
    const found = Array.from(message.matchAll(FAILURE));
    for (const [, words = '', number] of found) {
      const failed = lines[Number(number) - 1];
      const why = words.replace(/^.* returned \d+: /, '');
      if (!failed || failures.has(failed.bridge)) continue;
      failures.set(failed.bridge, `${program} ${failed.line}: ${why}`);
    }
    // Not of a line, for example: there is no such program.
    if (found.length === 0) for (const { bridge } of lines) failures.set(bridge, message);
  }
  return failures;
}
