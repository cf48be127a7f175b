import { type Command, Option } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { dnsName, duration, text } from './option-values.ts';
import { serveOption } from './serve-options.ts';

/** Adds the flags of `node-agent` to its command. */
export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const) {
    command.addOption(serveOption(name));
  }
  const root = new Option('--host-root <directory>', "where the node's file system is mounted");
  const plugins = new Option('--cni-plugins <directory>', 'CNI plugins to install on a node that lacks them');
  const directory = new Option('--cni-bin-dir <directory>', "the node's CNI plugins, as a path on the node");
  const interval = new Option('--sweep-interval <duration>', 'how often to check the node');
  const node = new Option('--node-name <name>', 'name of the node, for --join-nodes').env('NODE_NAME');
  const namespace = new Option(
    '--operator-namespace <name>',
    'namespace of the table of nodes, for --join-nodes',
  );
  return command
    .addOption(root.argParser(text).default('/host'))
    .addOption(directory.argParser(text).default('/opt/cni/bin'))
    .addOption(plugins.argParser(text).default('/opt/cni/bin'))
    .addOption(interval.argParser(duration).default(duration('5s'), '5s'))
    .option('--join-nodes', 'connect the Networks of the node with those of the other nodes')
    .addOption(node.argParser(dnsName))
    .addOption(namespace.argParser(dnsName).default(PROGRAM));
}
