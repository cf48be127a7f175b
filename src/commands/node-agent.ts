import { type Command, Option } from 'commander';
import { duration, type ServeOptions, serveOption, text } from '../config.ts';
import { Informer } from '../kube/informer.ts';
import { loadKubeConfig } from '../kube/load-config.ts';
import { keyOf, withoutManagedFields } from '../kube/object.ts';
import { sleep } from '../kube/sleep.ts';
import { createLogger } from '../log.ts';
import { Host } from '../network/node/host.ts';
import { Sweeper } from '../network/node/sweeper.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS } from '../network/resources.ts';
import { systemClock } from '../workqueue/clock.ts';
import { apiAccess } from './api-access.ts';
import type { ExitCode } from './cli.ts';
import { informerLog } from './informer-log.ts';

export interface NodeAgentOptions
  extends Pick<ServeOptions, 'kubeconfig' | 'master' | 'logLevel' | 'logFormat'> {
  readonly hostRoot: string;
  /** In milliseconds. */
  readonly sweepInterval: number;
}

export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'log-level', 'log-format'] as const) {
    command.addOption(serveOption(name));
  }
  const root = new Option('--host-root <directory>', 'where the file system of the node is');
  const interval = new Option('--sweep-interval <duration>', 'how often the node is looked at');
  return command
    .addOption(root.argParser(text).default('/host'))
    .addOption(interval.argParser(duration).default(duration('5s'), '5s'));
}

/** Keeps one node clean of networks that are gone, until `stop` aborts. Runs in the node's network, as root. */
export async function nodeAgent(options: NodeAgentOptions, stop: AbortSignal): Promise<ExitCode> {
  const { log } = createLogger(options.logLevel, options.logFormat);
  const clock = systemClock;
  const api = apiAccess({ config: loadKubeConfig(options), clock, log });
  const attachments = new Informer({
    client: api.client,
    clock,
    resource: NETWORK_ATTACHMENT_DEFINITIONS,
    transform: (attachment) => ({ metadata: withoutManagedFields(attachment).metadata }),
    onError: informerLog(log, 'network-attachment-definitions'),
  });
  const keys = () => attachments.lister.list().map(keyOf);
  const sweeper = new Sweeper({ host: new Host(options.hostRoot), attachments: keys, log });
  const watching = attachments.run(stop);
  try {
    await attachments.waitForSync(stop).catch(() => undefined);
    while (!stop.aborted) {
      await sweeper.sweep().catch((err: unknown) => log.error({ err }, 'the node cannot be looked at'));
      await sleep(clock, options.sweepInterval, stop).catch(() => undefined);
    }
  } finally {
    await watching;
    await api.close();
  }
  return 0;
}
