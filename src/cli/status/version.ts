import { type Keys, keysFor } from '../../injection/keys.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { VERSION } from '../../kube/util/version.ts';
import { counted } from '../../util/clip.ts';
import type { JsonObject } from '../../util/json.ts';
import type { CommandContext, SetUpCommand } from '../add-on.ts';
import { type Cluster, withCluster } from '../cluster.ts';
import { followInstallation, readDeployment } from '../installation.ts';
import { type OutputFormat, outputOption, printOutput } from '../io/output.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { addClusterOptions, type ClusterOptions } from '../options/tool-options.ts';
import { livePods, sidecarsOf } from '../survey.ts';
import { tried } from './facts.ts';

interface VersionOptions extends ClusterOptions {
  /** Only the version of this program; needs no cluster. */
  readonly client?: boolean;
  readonly output: OutputFormat;
}

/** Prints the versions of this program, the operator, the API server and the sidecars. */
export async function run({ terminal }: CommandContext, options: VersionOptions): Promise<ExitCode> {
  const known = { client: VERSION };
  const print = (value: JsonObject) => printVersions(terminal, options.output, value);
  if (options.client) return print(known);
  try {
    const found = await withCluster(options, (cluster) => readVersions(cluster, options));
    return print({ ...known, ...found });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // Without a cluster as with kubectl: prints what is known, and the rest is a problem.
    print(known);
    terminal.err(`error: ${error.message}\n`);
    return 1;
  }
}

function printVersions(terminal: Terminal, format: OutputFormat, value: JsonObject): ExitCode {
  const lines = Object.entries(value).flatMap(([name, version]) =>
    typeof version === 'object' && version !== null
      ? Object.entries(version).map(([image, pods]) => `sidecar: ${image} (${counted(Number(pods), 'pod')})`)
      : [`${name}: ${version}`],
  );
  printOutput(terminal, format, value, lines);
  return 0;
}

async function readVersions(cluster: Cluster, given: VersionOptions): Promise<JsonObject> {
  const { client } = cluster;
  const found = await tried(() => readDeployment(client, given.operatorNamespace));
  const installation = 'value' in found ? found.value : undefined;
  const { annotation: key } = followInstallation(given, installation);
  const [{ gitVersion: server }, sidecars] = await Promise.all([
    readServerVersion(client),
    tried(() => sidecarImages(client, keysFor(key))),
  ]);
  return {
    operator: installation?.image ?? ('unreadable' in found ? found.unreadable : 'none found'),
    server,
    sidecars: 'value' in sidecars ? sidecars.value : sidecars.unreadable,
  };
}

/** The images of sidecars, with the number of their pods. */
async function sidecarImages(client: KubeClient, keys: Keys): Promise<JsonObject> {
  const counts: Record<string, number> = {};
  for await (const pod of livePods(client, {})) {
    for (const image of new Set(sidecarsOf(pod, keys).map((container) => String(container.image))))
      counts[image] = (counts[image] ?? 0) + 1;
  }
  return counts;
}

export const setUpCommand: SetUpCommand = (command) => {
  command
    .option('--client', 'print only the version of this program; needs no cluster')
    .addOption(outputOption('text', 'json', 'yaml'));
  addClusterOptions(command);
};
