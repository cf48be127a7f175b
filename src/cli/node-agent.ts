import { type Command, Option } from 'commander';
import { stopSignal } from '../kube/manager/lifecycle.ts';
import { type NodeAgentOptions, nodeAgent } from '../networks/agent/node-agent.ts';
import type { CommandContext, SetUpCommand } from './add-on.ts';
import type { ExitCode } from './io/terminal.ts';
import { dnsName, duration, port } from './options/option-values.ts';
import { serveOption, unknownVariables } from './options/serve-options.ts';
import { textOption } from './options/tool-options.ts';

/** Runs the agent until the process is told to stop. */
export async function run(
  { addOns }: CommandContext,
  options: NodeAgentOptions,
  command: Command,
): Promise<ExitCode> {
  const ignoredVariables = unknownVariables(process.env, command.options);
  const parts = await Promise.all(addOns.flatMap(({ nodePart }) => nodePart?.() ?? []));
  return await nodeAgent({ ...options, ignoredVariables }, stopSignal(), parts);
}

export const setUpCommand: SetUpCommand = (command) => {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const)
    command.addOption(serveOption(name));
  const durationOption = (flags: string, help: string, byDefault: string) =>
    new Option(flags, help).argParser(duration).default(duration(byDefault), byDefault);
  const vxlan = new Option('--vxlan-port <port>', 'UDP port for VXLAN, the same on all nodes');
  const options = [
    textOption('--host-root <directory>', 'where directories of the node are mounted').default('/host'),
    textOption('--cni-bin-dir <directory>', "the node's CNI plugins, as a path on the node").default(
      '/opt/cni/bin',
    ),
    textOption('--cni-conf-dir <directory>', "the node's CNI configurations, as a path on the node").default(
      '/etc/cni/net.d',
    ),
    textOption('--cni-plugins <directory>', 'CNI plugins to install on a node that lacks them').default(
      '/opt/cni/bin',
    ),
    durationOption('--look-interval <duration>', 'how often to check the whole node', '30s'),
    durationOption('--linger <duration>', 'how long a Network stays on the node after its last pod', '120s'),
    vxlan.argParser(port).default(4789, '4789'),
    textOption(
      '--underlay-device <name>',
      "device that reaches the other nodes (default: the one with the node's address)",
    ),
    new Option('--node-name <name>', 'name of the node').env('NODE_NAME').argParser(dnsName),
    textOption('--node-address <address>', 'address of the node').env('NODE_ADDRESS'),
  ];
  for (const option of options) command.addOption(option);
};
