import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** What a command said, and how it ended. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Null where a signal ended it. */
  readonly code: number | null;
}

/** Runs a command to its end. Rejects only where it cannot be run. */
export async function runCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string,
): Promise<CommandResult> {
  const child = spawn(command, args, { env, stdio: 'pipe' });
  // A command that ends without reading its input breaks the pipe; its exit code says more.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, code };
}
