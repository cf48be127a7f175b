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
