import type { KubeClient } from '../kube/client.ts';
import { parseTarget } from './check-target.ts';
import { UsageError } from './terminal.ts';

/** Kinds that make new pods when their pod template changes. */
const ROLLING: readonly string[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
/** What kubectl rollout restart writes, and every controller of pods takes for a change. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** Has the pods of a workload created again, in the order and at the pace that it is configured for. Says what it did. */
export async function restart(client: KubeClient, namespace: string, target: string): Promise<string> {
  const { resource, name } = parseTarget(target);
  if (!ROLLING.includes(resource.kind)) {
    const kinds = ROLLING.join(', ');
    throw new UsageError(
      `cannot restart a ${resource.kind}: only ${kinds} make new pods by themselves; delete the pods`,
    );
  }
  const annotations = { [RESTARTED_AT]: new Date().toISOString() };
  const patch = { spec: { template: { metadata: { annotations } } } };
  await client.mergePatch(resource, { namespace, name }, patch, { fieldManager: 'envoy-initializer' });
  return `${resource.kind.toLowerCase()}.apps/${name} restarted`;
}
