import { type CommandContext, type SetUpCommand, toolsOf } from '../add-on.ts';
import { withCluster } from '../cluster.ts';
import { type Columns, type OutputFormat, outputOption, printOutput, tableOf } from '../io/output.ts';
import type { ExitCode } from '../io/terminal.ts';
import { serveOption } from '../options/serve-options.ts';
import { addClusterOptions, type ClusterOptions } from '../options/tool-options.ts';
import { readStatus } from './facts.ts';
import type { StatusRow } from './rows.ts';
import { statusRows } from './status-rows.ts';

interface StatusOptions extends ClusterOptions {
  readonly requireAnnotation: boolean;
  readonly output: OutputFormat;
}

/** Prints whether the operator is healthy, as a table with the advice below. Returns 1 if there is a problem. */
export async function run({ terminal, addOns }: CommandContext, options: StatusOptions): Promise<ExitCode> {
  const tools = await toolsOf(addOns);
  const { facts, rows } = await withCluster(options, async ({ client }) => {
    const found = await readStatus(client, options, tools);
    const ofAddOns = await Promise.all(tools.map(({ status }) => status?.(client, found) ?? []));
    return { facts: found, rows: statusRows(found, ofAddOns.flat()) };
  });
  const problems = rows.filter(({ state }) => state === 'problem');
  const summary = problems.map(({ check, advice = '' }) => `! ${check}: ${advice}`);
  const value = rows.map((row) => ({ ...row }));
  printOutput(terminal, options.output, value, [...tableOf(rows, COLUMNS), ...summary]);
  const { installation, replicas, lease, webhooks, template, networks, pods } = facts;
  const read = [installation, replicas, lease, webhooks, template, networks, pods];
  if (read.some((each) => 'value' in each)) return problems.length > 0 ? 1 : 0;
  terminal.err('error: no status could be read: you need the right to read the objects above\n');
  return 2;
}

const COLUMNS: Columns<StatusRow> = {
  CHECK: ({ check }) => check,
  STATE: ({ state }) => state,
  DETAIL: ({ detail }) => detail.replace(/\s+/g, ' '),
};

export const setUpCommand: SetUpCommand = (command) => {
  command.addOption(serveOption('require-annotation')).addOption(outputOption('table', 'json', 'yaml'));
  addClusterOptions(command);
};
