import { hasCode } from '../../test/env/control-plane/has-code.ts';
import { runCommand } from '../../test/env/control-plane/run-command.ts';

/** An error that the user can solve without a stack trace. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The most lines of a program's output that an error quotes. */
const QUOTED_LINES = 20;

/** Runs a program with this process's environment, and resolves to its output. Rejects with a Refusal if it fails. */
export async function run(
  command: string,
  args: readonly string[],
  output: 'stdout' | 'both' = 'stdout',
): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const { code, stdout, stderr } = await runCommand(command, args, env, '').catch((cause: unknown) => {
    if (!hasCode(cause, 'ENOENT')) throw cause;
    throw new Refusal(`program ${command} does not exist: install it`, { cause });
  });
  if (code === 0) return output === 'both' ? `${stdout}${stderr}` : stdout;
  const end = `${stdout}${stderr}`.trimEnd().split('\n').slice(-QUOTED_LINES).join('\n');
  throw new Refusal(`${command} ${args[0]} ended with code ${code}:\n${end}`);
}
