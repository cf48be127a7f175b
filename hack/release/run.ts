import { hasCode } from '../../test/env/control-plane/has-code.ts';
import { runCommand } from '../../test/env/control-plane/run-command.ts';

/** What the user has to do something about: nothing in a stack trace helps. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Lines of a program's output that an error quotes. */
const QUOTED_LINES = 20;

/** Runs a program with this program's environment, and resolves to what it prints. Rejects with a Refusal where it fails. */
export async function run(command: string, args: readonly string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const { code, stdout, stderr } = await runCommand(command, args, env, '').catch((cause: unknown) => {
    if (!hasCode(cause, 'ENOENT')) throw cause;
    throw new Refusal(`there is no program ${command}: install it`, { cause });
  });
  if (code === 0) return stdout;
  const end = `${stdout}${stderr}`.trimEnd().split('\n').slice(-QUOTED_LINES).join('\n');
  throw new Refusal(`${command} ${args[0]} ended with code ${code}:\n${end}`);
}
