import { type Command, Option } from 'commander';
import { dnsName, duration, port } from './option-values.ts';
import { serveOption } from './serve-options.ts';
import { textOption } from './tool-options.ts';

/** Adds the flags of `node-agent` to its command. */
export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const)
    command.addOption(serveOption(name));
  const durationOption = (flags: string, help: string, byDefault: string) =>
    new Option(flags, help).argParser(duration).default(duration(byDefault), byDefault);
  const vxlan = new Option('--vxlan-port <port>', 'UDP port between the nodes, the same on all');
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
      'device to the other nodes (default: that of the address of the node)',
    ),
    new Option('--node-name <name>', 'name of the node').env('NODE_NAME').argParser(dnsName),
    textOption('--node-address <address>', 'address of the node').env('NODE_ADDRESS'),
  ];
  for (const option of options) command.addOption(option);
  return command;
}
