import { keysFor } from '../../injection/keys.ts';
import { namespaceOf } from '../../injection/manifests/manifests.ts';
import type { PodSite } from '../../injection/podspec/workload.ts';
import { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import { systemClock } from '../../kube/workqueue/clock.ts';
import type { ToolParts } from '../add-on.ts';
import type { Cluster } from '../cluster.ts';
import { followInstallation, installationOf, type SharedFlags } from '../installation.ts';
import { NamespaceObjects } from '../namespace-objects.ts';
import type { ClusterOptions } from '../options/tool-options.ts';
import { templatesOfCluster } from '../template-source.ts';
import type { CheckFinding, CheckReport } from './check-report.ts';
import { checkLive } from './check-site.ts';
import { appliedWebhooks } from './check-webhook.ts';

type LiveOptions = ClusterOptions & SharedFlags;

/** Checks pods and workloads with the installation of the cluster. */
export async function reportLive(
  cluster: Cluster,
  given: LiveOptions,
  sites: readonly PodSite[],
  byDefault: string,
  tools: readonly ToolParts[],
): Promise<readonly CheckReport[]> {
  const installation = await installationOf(cluster.client, given.operatorNamespace);
  const options = followInstallation(given, installation);
  const set = await templatesOfCluster(cluster.client, options);
  const state = { set };
  const general: CheckFinding[] = [];
  if (installation?.readyReplicas === 0) {
    const message = `no replica of the operator is ready: see kubectl --namespace ${options.operatorNamespace} describe pods`;
    general.push({ reason: 'no-replica', message });
  }
  const webhooks = await appliedWebhooks(cluster.client, options);
  const { client } = cluster;
  const injecting = await Promise.all(tools.map(({ check }) => check?.injectsWithoutWebhook?.(client)));
  const held = await Promise.all(tools.map(({ check }) => check?.promoted?.(client, options, set)));
  const { requireAnnotation, operatorNamespace } = options;
  const keys = keysFor(options.annotation);
  const decideOptions = { keys, requireAnnotation, operatorNamespace };
  const dryRun = new TemplateDryRun({ client, clock: systemClock, keys, namespace: byDefault });
  const objects = new NamespaceObjects(client, options.operatorNamespace);
  const reports: CheckReport[] = [];
  for (const site of sites) {
    const namespace = namespaceOf(site, byDefault);
    const report = await checkLive(site, {
      client,
      objects,
      dryRun,
      promoted: held.find((each) => each !== undefined),
      decideOptions,
      state,
      namespace,
      webhooks,
      policies: injecting.includes(true),
    });
    const { findings } = report;
    reports.push({ ...report, findings: [...general, ...findings] });
  }
  return reports;
}
