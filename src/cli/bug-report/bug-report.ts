import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Command, Option } from 'commander';
import { writeProblem } from '../../kube/util/file-problem.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { type SetUpCommand, type ToolParts, toolsOf } from '../add-on.ts';
import { withCluster } from '../cluster.ts';
import { installationOf } from '../installation.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { text } from '../options/option-values.ts';
import { serveOption } from '../options/serve-options.ts';
import { addClusterOptions, type ClusterOptions } from '../options/tool-options.ts';
import { judgeCluster } from '../status/status.ts';
import { collect } from './collect.ts';
import { Redactor } from './redact.ts';
import { ReportParts } from './report-parts.ts';

export interface BugReportOptions extends ClusterOptions {
  readonly requireAnnotation: boolean;
  readonly file?: string;
}

export function addBugReportOptions(command: Command): Command {
  command
    .addOption(
      new Option('--file <path>', 'archive to write (default: envoy-initializer-TIME.tar.gz)').argParser(
        text,
      ),
    )
    .addOption(serveOption('require-annotation'));
  return addClusterOptions(command);
}

/** Writes an archive of what the user may read about the operator, without secrets. */
export async function bugReportCommand(
  options: BugReportOptions,
  terminal: Terminal,
  tools: readonly ToolParts[],
): Promise<ExitCode> {
  const now = new Date();
  const directory = `envoy-initializer-${now.toISOString().replace(/\..*$/, '').replace(/\D/g, '')}`;
  const { file = `${directory}.tar.gz`, operatorNamespace: namespace, configmap } = options;
  const parts = new ReportParts(directory);
  const redactor = new Redactor();
  const kinds = tools.flatMap((each) => each.kinds ?? []);
  await withCluster(options, async (cluster) => {
    const { rows } = await judgeCluster(cluster, options, tools);
    parts.add('status.json', `${redactor.text(JSON.stringify(rows, null, 2))}\n`);
    const installation = await installationOf(cluster.client, namespace);
    await collect(parts, { cluster, namespace, configmap, installation, redactor, kinds });
  });
  const archive = await promisify(gzip)(
    parts.archive(Math.floor(now.getTime() / 1000), (text) => redactor.everywhere(text)),
  );
  await terminal.write(file, archive).catch((cause: unknown) => {
    throw new UsageError(`cannot write ${file}: ${writeProblem(cause)}`, { cause });
  });
  for (const line of parts.notes) terminal.err(`missing: ${line}\n`);
  terminal.out(`${file}\n`);
  return 0;
}

export const setUpCommand: SetUpCommand = (command, { terminal, ended, addOns }) => {
  addBugReportOptions(command.allowExcessArguments(false)).action(async (options: BugReportOptions) =>
    ended(await bugReportCommand(options, terminal, await toolsOf(addOns))),
  );
};
