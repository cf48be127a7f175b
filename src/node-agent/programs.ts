import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/**
 * Runs a program with this input. Resolves with its standard output; if it fails, rejects with its standard error.
 */
export type Programs = (program: string, args: readonly string[], input?: string) => Promise<string>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Runs a program of this file system. */
export async function run(program: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(program, args, { env: { PATH }, stdio: 'pipe' });
  // A program that ends without reading all input reports the reason on stderr.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim()}`);
  return stdout;
}

/** Lines for a batch of one bridge. */
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
  programs: Programs,
  program: 'ip' | 'bridge',
  parts: readonly BatchPart[],
): Promise<ReadonlyMap<string, string>> {
  const lines = parts.flatMap(({ bridge, lines: all }) => all.map((line) => ({ bridge, line })));
  const failures = new Map<string, string>();
  if (lines.length === 0) return failures;
  const input = lines.map(({ line }) => `${line}\n`).join('');
  try {
    await programs(program, ['-force', '-batch', '-'], input);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    for (const [, why, number] of message.matchAll(FAILURE)) {
      const failed = lines[Number(number) - 1];
      if (!failed || failures.has(failed.bridge)) continue;
      failures.set(
        failed.bridge,
        `${program} ${failed.line}: ${(why ?? '').replace(/^.* ended with \d+: /, '')}`,
      );
    }
    // Not of a line, for example: there is no such program.
    if (failures.size === 0) for (const { bridge } of lines) failures.set(bridge, message);
  }
  return failures;
}
