import { kubectl } from './cluster-kubectl.ts';
import type { E2eCluster } from './e2e-cluster.ts';

/** Kinds whose objects come and go by themselves. */
const PASSING: ReadonlySet<string> = new Set([
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
]);
const NAMES = '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}';

/** All there is in a cluster, of every kind that it has: `KIND NAMESPACE/NAME`. */
export async function objectsIn(cluster: Pick<E2eCluster, 'kubectl'>): Promise<string[]> {
  const kinds = (await kubectl(cluster, 'api-resources --verbs=list,delete --output=name'))
    .split('\n')
    .filter((kind) => kind !== '' && !PASSING.has(kind));
  const printed = await kubectl(cluster, [
    'get',
    kinds.join(),
    '--all-namespaces',
    '--output',
    `jsonpath=${NAMES}`,
  ]);
  return printed.split('\n').filter(Boolean).toSorted();
}
