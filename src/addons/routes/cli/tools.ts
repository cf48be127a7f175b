import type { ToolParts } from '../../../cli/add-on.ts';
import { isServed, type StatusFacts, tried } from '../../../cli/status/facts.ts';
import { about, type CheckResult, flag, none, ok } from '../../../cli/status/rows.ts';
import { listed, metadataOf, objectsOf } from '../../../cli/uninstall/objects.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { HTTP_ROUTES, ROUTES_LABEL } from '../delivery/resources.ts';
import { addRequestOptions, routeQuestion } from './question.ts';

/** What routes add to the commands of the core. */
export const tools: ToolParts = {
  check: { addOptions: addRequestOptions, question: routeQuestion },
  status: async (client, facts) => [{ check: 'routes', ...(await verdict(client, facts)) }],
  staying,
};

async function verdict(client: KubeClient, facts: StatusFacts): Promise<CheckResult> {
  if (flag(facts, 'routes') === 'off') return none('off (--routes)');
  return about(await tried(() => isServed(client, HTTP_ROUTES)), (isKnown) =>
    isKnown ? ok('the API server has HTTPRoutes') : none('the cluster has no HTTPRoutes (Gateway API)'),
  );
}

async function staying(client: KubeClient): Promise<readonly string[]> {
  const maps = await objectsOf(client, metadataOf('v1', 'ConfigMap'), {
    labelSelector: ROUTES_LABEL,
  });
  const namespaces = maps.map(({ metadata }) => metadata.namespace ?? '');
  return maps.length === 0
    ? []
    : [`ConfigMaps envoy-routes stay for running sidecars, in the namespaces ${listed(namespaces)}`];
}
