import type { ToolParts } from '../../../cli/add-on.ts';
import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { type StatusFacts, tried } from '../../../cli/status/facts.ts';
import { about, type CheckResult, flag, none, ok } from '../../../cli/status/rows.ts';
import { keysFor } from '../../../injection/keys.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { ifFound, ifReadable } from '../../../kube/api/api-error.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { counted } from '../../../util/clip.ts';
import { PROGRAM } from '../../../util/identity.ts';
import { compilePolicies } from '../compile.ts';
import { POLICY_BINDINGS } from '../resources.ts';

/** What admission policies add to the commands of the core. */
export const tools: ToolParts = {
  check: {
    injectsWithoutWebhook: async (client) => ((await ifReadable(bindings(client))) ?? 0) > 0,
  },
  lint: coverage,
  status: async (client, facts) => [{ check: 'policies', ...(await verdict(client, facts)) }],
};

/** The number of the operator's bindings; undefined before Kubernetes 1.36, which has no such policies. */
async function bindings(client: KubeClient): Promise<number | undefined> {
  const page = await ifFound(client.list(POLICY_BINDINGS, { labelSelector: `app=${PROGRAM}` }));
  return page?.items.length;
}

/** Which templates the API server can inject with policies. */
function coverage(
  set: TemplateSet,
  { annotation, operatorNamespace }: Pick<ClusterOptions, 'annotation' | 'operatorNamespace'>,
): readonly string[] {
  const { objects, left } = compilePolicies(set, {
    keys: keysFor(annotation),
    requireAnnotation: true,
    operatorNamespace,
    name: 'lint',
    alone: false,
  });
  const covered = objects.length > 0 ? ['template "config": the API server can inject it with a policy'] : [];
  return [...covered, ...left].map((line) => `policy: ${line}`);
}

async function verdict(client: KubeClient, facts: StatusFacts): Promise<CheckResult> {
  if (flag(facts, 'policy') === 'off') return none('off (--policy): only the webhook injects pods');
  return about(await tried(() => bindings(client)), (found) => {
    if (found === undefined) return none('not in this version of Kubernetes: only the webhook injects pods');
    if (found === 0) return none('none: only the webhook injects pods');
    return ok(`${counted(found, 'binding')}: policies inject most pods`);
  });
}
