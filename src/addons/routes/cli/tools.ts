import type { ToolParts } from '../../../cli/add-on.ts';
import { isServed, type StatusFacts, tried } from '../../../cli/status/facts.ts';
import {
  about,
  type CheckResult,
  count,
  flag,
  metricsOf,
  noMetrics,
  none,
  ok,
  problem,
} from '../../../cli/status/rows.ts';
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
  return about(await tried(() => isServed(client, HTTP_ROUTES)), (isKnown) => {
    if (!isKnown) return none('the cluster has no HTTPRoutes (Gateway API)');
    const pages = metricsOf(facts);
    if (pages.length === 0) return noMetrics(facts);
    const behind = pages.flatMap(
      (metrics) => metrics.value('envoy_initializer_routes_sidecars_behind') ?? [],
    );
    const most = Math.max(0, ...behind);
    if (most === 0) return ok('all sidecars have the current routes');
    return problem(`${count(most, 'sidecar')} with older routes`, 'see "Is it in use?" in docs/routing.md');
  });
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
