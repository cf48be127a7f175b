import { type Command, Option } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { dnsName, duration, text } from './option-values.ts';
import { serveOption } from './serve-options.ts';

/** Adds the flags of `node-agent` to its command. */
export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const) {
    command.addOption(serveOption(name));
  }
  const root = new Option('--host-root <directory>', 'where the file system of the node is');
  const plugins = new Option(
    '--cni-plugins <directory>',
    'where there are CNI plugins for a node that lacks them',
  );
  const directory = new Option('--cni-bin-dir <directory>', "where the node's CNI plugins are, on the node");
  const interval = new Option('--sweep-interval <duration>', 'how often the node is looked at');
  const node = new Option('--node-name <name>', 'name of the node, for --join-nodes').env('NODE_NAME');
  const namespace = new Option(
    '--operator-namespace <name>',
    'where the table of the nodes is, for --join-nodes',
  );
  return command
    .addOption(root.argParser(text).default('/host'))
    .addOption(directory.argParser(text).default('/opt/cni/bin'))
    .addOption(plugins.argParser(text).default('/opt/cni/bin'))
    .addOption(interval.argParser(duration).default(duration('5s'), '5s'))
    .option('--join-nodes', 'join the Networks of the node with those of the other nodes')
    .addOption(node.argParser(dnsName))
    .addOption(namespace.argParser(dnsName).default(PROGRAM));
}
