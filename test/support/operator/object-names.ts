import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { must } from '../../env/operator.ts';

/** What comes and goes by itself, or is another form of something else. */
const PASSING = [
  'events',
  'events.events.k8s.io',
  'endpoints',
  'componentstatuses',
  'leases.coordination.k8s.io',
];

/** Every object of the cluster, `KIND NAMESPACE NAME`, sorted. */
export async function objectNames(controlPlane: Pick<ControlPlane, 'kubectl'>): Promise<readonly string[]> {
  const { stdout } = await must(controlPlane, ['api-resources', '--verbs=list', '--output=name']);
  const kinds = stdout
    .trim()
    .split('\n')
    .filter((kind) => !PASSING.includes(kind));
  const columns = 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name';
  const listed = await must(controlPlane, [
    ...['get', kinds.join(','), '--all-namespaces', '--no-headers', `--output=${columns}`],
  ]);
  return listed.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(/ +/).join(' '))
    .toSorted();
}
