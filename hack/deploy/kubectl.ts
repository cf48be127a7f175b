import { type CommandResult, runCommand } from '../../test/env/control-plane/run-command.ts';

/** Runs kubectl with these arguments. Resolves with any exit code. */
export type Kubectl = (
  args: readonly string[],
  options?: { readonly input?: string },
) => Promise<CommandResult>;

/** An error that the user can solve: one line, without a stack trace. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The user's own kubectl, with the user's own settings. */
export function kubectlOf(command: string): Kubectl {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  return async (args, { input = '' } = {}) => {
    try {
      return await runCommand(command, args, env, input);
    } catch (cause) {
      const what = cause instanceof Error ? cause.message : String(cause);
      throw new Refusal(`cannot run ${command} (${what}): install kubectl, or write KUBECTL=…`, {
        cause,
      });
    }
  };
}

/** Returns kubectl's output. @throws Refusal with its standard error if it fails. */
export async function output(kubectl: Kubectl, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, input === undefined ? {} : { input });
  if (code !== 0) throw new Refusal(`kubectl ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

/** The lines of kubectl's output, without empty ones. */
export async function lines(kubectl: Kubectl, args: readonly string[]): Promise<readonly string[]> {
  return (await output(kubectl, args)).split('\n').filter((line) => line !== '');
}
