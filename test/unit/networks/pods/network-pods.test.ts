import { serialize, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { OPEN_ACCESS } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods } from '../../../../src/networks/pods/network-pods.ts';

const ASKED = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';
const KIB = 1024;

function decoded(annotations: Readonly<Record<string, string>>, isGated = false): NetworkPod {
  return networkPods(OPEN_ACCESS).decode({
    metadata: { name: 'p', namespace: 'red', uid: 'u', annotations },
    spec: { schedulingGates: isGated ? [{ name: ASKED }] : [] },
  });
}

const names = (n: number, name = (index: number) => `network-${index}`) =>
  Array.from({ length: n }, (_, i) => name(i));
const sizeOf = (pod: NetworkPod) => serialize(pod).length;

const long = names(15_000).join();
const entries = (n: number, name = (index: number) => `network-${index}`) =>
  JSON.stringify(names(n, name).map((each) => ({ name: each })));

test.each<[string, Readonly<Record<string, string>>]>([
  ['names for Multus', { [MULTUS]: long }],
  ['objects for Multus', { [MULTUS]: entries(8_000) }],
  ['entries of a status', { [STATUS]: entries(8_000) }],
  ['long names in a status', { [STATUS]: entries(20, () => 'x'.repeat(10_000)) }],
])('the cached part of a pod is small for any annotations: %s', (_, annotations) => {
  expect(sizeOf(decoded(annotations))).toBeLessThan(8 * KIB);
});

test.each([ASKED, MULTUS])('the cached part of a pod has %s of a gated pod up to 32 KiB', (key) => {
  expect(sizeOf(decoded({ [key]: long }, true))).toBeLessThan(KIB);
  const kept = 'x'.repeat(32 * KIB);
  expect(JSON.stringify(decoded({ [key]: kept }, true).selections)).toContain(kept);
});

test('the cached names of a pod do not keep an annotation in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const pods: NetworkPod[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 500; i += 1) {
    const text = JSON.parse(
      JSON.stringify(`network-with-a-long-name-${i},${'x'.repeat(30 * KIB)}`),
    ) as string;
    pods.push(decoded({ [MULTUS]: text }));
  }
  collect();
  const grown = process.memoryUsage().heapUsed - before;
  expect(pods.map(({ asksFor }) => asksFor.length)).toEqual(pods.map(() => 1));
  expect(grown).toBeLessThan(5_000 * KIB);
});

const lacking = (status: object, annotations: Readonly<Record<string, string>>) =>
  networkPods(OPEN_ACCESS).decode({ metadata: { name: 'p', namespace: 'red', annotations }, status });
const both = { [ASKED]: 'blue', [MULTUS]: 'blue,green' };
const attached = JSON.stringify([{ name: 'cbr0', default: true }, { name: 'red/blue' }]);

test.each([
  ['none, before its first one', {}, both, undefined],
  ['all that Multus does not report', { podIP: '10.244.0.7' }, both, ['red/blue', 'red/green']],
  ['one of two', { podIP: '10.244.0.7' }, { ...both, [STATUS]: attached }, ['red/green']],
  ['none that it has', { podIP: '10.244.0.7' }, { [ASKED]: 'blue', [STATUS]: attached }, undefined],
  ['none if it asks for none', { podIP: '10.244.0.7' }, {}, undefined],
])('a pod lacks the interfaces %s', (_, status, annotations, expected) => {
  expect(lacking(status, annotations).unattached).toEqual(expected);
});

test.each([
  [{ hostNetwork: true }, {}],
  [{}, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
])('a pod lacks no interfaces with %j %j', (spec, more) => {
  const metadata = { name: 'p', namespace: 'red', annotations: both, ...more };
  const pod = networkPods(OPEN_ACCESS).decode({ metadata, spec, status: { podIP: '192.0.2.1' } });
  expect(pod.unattached).toBeUndefined();
});

const terms = (...nodeSelectorTerms: readonly object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const field = { key: 'metadata.name', operator: 'In', values: ['a'] };
const label = { key: 'kubernetes.io/hostname', operator: 'In', values: ['b', 'c'] };

test.each([
  ['by a label', { nodeSelector: { 'kubernetes.io/hostname': 'a' } }, ['a']],
  ['as a DaemonSet does', terms({ matchFields: [field] }), ['a']],
  ['by alternatives', terms({ matchFields: [field] }, { matchExpressions: [label] }), ['a', 'b', 'c']],
  ['not in one alternative', terms({ matchFields: [field] }, { matchExpressions: [] }), undefined],
  ['not by exclusion', terms({ matchFields: [{ ...field, operator: 'NotIn' }] }), undefined],
  ['not by another label', { nodeSelector: { zone: 'a' } }, undefined],
  ['nowhere', {}, undefined],
])('a gated pod names its nodes %s', (_, spec, expected) => {
  const gates = { schedulingGates: [{ name: ASKED }] };
  const pod = networkPods(OPEN_ACCESS).decode({ metadata: { name: 'p' }, spec: { ...spec, ...gates } });
  expect(pod.namedNodes).toEqual(expected);
});

test("a pod uses the Networks in Multus' annotation, up to the limit", () => {
  expect(decoded({ [MULTUS]: names(100).join() }).asksFor).toHaveLength(100);
  expect(decoded({ [MULTUS]: names(101).join() }).asksFor).toEqual([]);
});

test("a pod uses the Networks in Multus' status, the first 100", () => {
  const status = [...names(150), 'network-0'].map((name) => ({ name, ips: ['10.0.0.2'] }));
  const { attachedTo } = decoded({ [STATUS]: JSON.stringify(status) });
  expect(attachedTo).toEqual(names(100).map((name) => ({ network: `red/${name}`, ips: ['10.0.0.2'] })));
});

test('a pod uses no names that a Network cannot have', () => {
  const wrong = ['Blue', 'blue.green', 'a/b/c', 'x'.repeat(64), 'Red/blue', `${'y'.repeat(64)}/blue`];
  const text = JSON.stringify([...wrong, 'blue'].map((name) => ({ name })));
  expect(decoded({ [STATUS]: text }).attachedTo).toEqual([{ network: 'red/blue', ips: [] }]);
  expect(decoded({ [MULTUS]: text }).asksFor).toEqual(['red/blue']);
});
