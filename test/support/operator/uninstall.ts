import { runCli } from '../../../src/program.ts';
import { MemoryTerminal } from '../cli/memory-terminal.ts';

/** `envoy-initializer uninstall` with these flags, in this process. */
export async function uninstall(kubeconfig: string, ...flags: readonly string[]) {
  const terminal = new MemoryTerminal();
  const argv = ['node', 'envoy-initializer', 'uninstall', '--kubeconfig', kubeconfig, ...flags];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

/** The same, where it must succeed: what it printed. */
export async function uninstalled(kubeconfig: string, ...flags: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await uninstall(kubeconfig, ...flags);
  if (code !== 0) throw new Error(`uninstall ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}
