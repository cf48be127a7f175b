import { type Kubectl, lines, output } from './kubectl.ts';

const GATE = 'samplecrd.k8s.io/network';

/**
 * Removes the gate of pods that wait for a Network, because no operator will. Returns their keys, `namespace/name`.
 */
export async function liftGates(kubectl: Kubectl): Promise<readonly string[]> {
  const gates = '{range .spec.schedulingGates[*]}{" "}{.name}{end}';
  const pods = await lines(kubectl, [
    ...['get', 'pods', '--all-namespaces', '--field-selector=status.phase=Pending'],
    `--output=jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}${gates}{"\\n"}{end}`,
  ]);
  const waiting = pods
    .map((line) => line.split(' '))
    .filter(([, ...names]) => names.includes(GATE))
    .map(([key = '']) => key);
  // The list merges by name, so other gates stay.
  const patch = JSON.stringify({ spec: { schedulingGates: [{ name: GATE, $patch: 'delete' }] } });
  for (const key of waiting) {
    const [namespace = '', name = ''] = key.split('/');
    await output(kubectl, ['patch', 'pod', name, '--namespace', namespace, '--patch', patch]);
  }
  return waiting;
}
