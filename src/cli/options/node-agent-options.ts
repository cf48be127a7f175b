import { type Command, Option } from 'commander';
import { dnsName, duration, port, text } from './option-values.ts';
import { serveOption } from './serve-options.ts';

/** Adds the flags of `node-agent` to its command. */
export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const) {
    command.addOption(serveOption(name));
  }
  const root = new Option('--host-root <directory>', 'where directories of the node are mounted');
  const plugins = new Option('--cni-plugins <directory>', 'CNI plugins to install on a node that lacks them');
  const directory = new Option('--cni-bin-dir <directory>', "the node's CNI plugins, as a path on the node");
  const configurations = new Option(
    '--cni-conf-dir <directory>',
    "the node's CNI configurations, as a path on the node",
  );
  const interval = new Option('--look-interval <duration>', 'how often to check the whole node');
  const linger = new Option('--linger <duration>', 'how long a Network stays on the node after its last pod');
  const vxlan = new Option('--vxlan-port <port>', 'UDP port between the nodes, the same on all');
  const device = new Option(
    '--underlay-device <name>',
    'device to the other nodes (default: that of the address of the node)',
  );
  const node = new Option('--node-name <name>', 'name of the node').env('NODE_NAME');
  const address = new Option('--node-address <address>', 'address of the node').env('NODE_ADDRESS');
  return command
    .addOption(root.argParser(text).default('/host'))
    .addOption(directory.argParser(text).default('/opt/cni/bin'))
    .addOption(configurations.argParser(text).default('/etc/cni/net.d'))
    .addOption(plugins.argParser(text).default('/opt/cni/bin'))
    .addOption(interval.argParser(duration).default(duration('30s'), '30s'))
    .addOption(linger.argParser(duration).default(duration('120s'), '120s'))
    .addOption(vxlan.argParser(port).default(4789, '4789'))
    .addOption(device.argParser(text))
    .addOption(node.argParser(dnsName))
    .addOption(address.argParser(text));
}
