import { type CommandContext, type SetUpCommand, toolsOf } from '../../../cli/add-on.ts';
import { withCluster } from '../../../cli/cluster.ts';
import { readDeployment } from '../../../cli/installation.ts';
import {
  type Columns,
  type OutputFormat,
  outputOption,
  printOutput,
  tableOf,
} from '../../../cli/io/output.ts';
import type { ExitCode } from '../../../cli/io/terminal.ts';
import { serveOption } from '../../../cli/options/serve-options.ts';
import {
  addClusterOptions,
  addScopeOptions,
  type ClusterOptions,
  type ScopeOptions,
  scopeOf,
} from '../../../cli/options/tool-options.ts';
import { type DriftedPod, type Survey, surveyBasis, surveyPods } from '../../../cli/survey.ts';
import { ifReadable } from '../../../kube/api/api-error.ts';
import { counted } from '../../../util/clip.ts';

interface DriftOptions extends ClusterOptions, ScopeOptions {
  readonly requireAnnotation: boolean;
  readonly output: OutputFormat;
}

/** Lists the pods with a missing or stale sidecar. */
export async function run({ terminal, addOns }: CommandContext, options: DriftOptions): Promise<ExitCode> {
  const tools = await toolsOf(addOns);
  return await withCluster(options, async (cluster) => {
    const { client } = cluster;
    const installation = await ifReadable(readDeployment(client, options.operatorNamespace));
    const basis = await surveyBasis(client, options, tools, installation);
    const survey = await surveyPods(client, scopeOf(options, cluster.namespace), basis);
    const { drifted } = survey;
    const value = drifted.map((pod) => ({ ...pod }));
    printOutput(terminal, options.output, value, tableOf(drifted, COLUMNS));
    if (drifted.length === 0) terminal.err(`${summaryOf(survey)}\n`);
    for (const [risk, n] of survey.risks) terminal.err(`${counted(n, 'pod')}: ${risk}\n`);
    if (drifted.length > 0 && basis.rollout) terminal.err(`${basis.rollout.text}\n`);
    return drifted.length > 0 ? 1 : 0;
  });
}

const COLUMNS: Columns<DriftedPod> = {
  NAMESPACE: ({ namespace }) => namespace,
  NAME: ({ name }) => name,
  SIDECAR: ({ sidecar }) => sidecar,
  CONTROLLER: ({ controller }) => controller || '<none>',
};

/** All pods that run, such as `no drift in 12 pods; 2 pods asked for a sidecar and got none (conflict: 1, windows: 1)`. */
function summaryOf({ count, skipped }: Survey): string {
  const reasons = Array.from(skipped, ([reason, n]) => `${reason}: ${n}`).join(', ');
  const asked = [...skipped.values()].reduce((sum, n) => sum + n, 0);
  const rest = asked > 0 ? `; ${counted(asked, 'pod')} asked for a sidecar and got none (${reasons})` : '';
  return `no drift in ${counted(count, 'pod')}${rest}`;
}

export const setUpCommand: SetUpCommand = (command) => {
  addScopeOptions(command, 'pods')
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption('table', 'json', 'yaml'));
  addClusterOptions(command);
};
