import { PROGRAM } from '../json/own-names.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { WORKLOAD_KINDS } from '../podspec/workload-kinds.ts';
import { parseTarget } from './check/check-target.ts';

/** What kubectl rollout restart writes, and every controller of pods takes for a change. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** Has the pods of a workload created again, in the order and at the pace that it is configured for. Says what it did. */
export async function restart(client: KubeClient, namespace: string, target: string): Promise<string> {
  const { workload, resource, name } = parseTarget(target);
  if (!workload.isRolling) {
    const kinds = WORKLOAD_KINDS.flatMap(({ kind, isRolling }) => (isRolling ? [kind] : [])).join(', ');
    throw new UsageError(
      `cannot restart a ${resource.kind}: only ${kinds} make new pods by themselves; delete the pods`,
    );
  }
  const annotations = { [RESTARTED_AT]: new Date().toISOString() };
  const patch = { spec: { template: { metadata: { annotations } } } };
  await client.mergePatch(resource, { namespace, name }, patch, { fieldManager: PROGRAM });
  return `${resource.kind.toLowerCase()}.${resource.group}/${name} restarted`;
}
