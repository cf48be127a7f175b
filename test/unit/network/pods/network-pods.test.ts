import { serialize, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { OPEN_ACCESS } from '../../../../src/network/pods/network-access.ts';
import { type NetworkPod, networkPods } from '../../../../src/network/pods/network-pods.ts';

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

describe('what is kept of a pod is small, whatever its annotations say', () => {
  const long = names(15_000).join();
  const entries = (n: number, name = (index: number) => `network-${index}`) =>
    JSON.stringify(names(n, name).map((each) => ({ name: each })));

  test.each<[string, Readonly<Record<string, string>>]>([
    ['names told to Multus', { [MULTUS]: long }],
    ['as many short ones', { [MULTUS]: names(50_000, (i) => i.toString(36)).join() }],
    ['objects told to Multus', { [MULTUS]: entries(8_000) }],
    ['names of ours', { [ASKED]: long }],
    ['entries of a status', { [STATUS]: entries(8_000) }],
    ['long names in a status', { [STATUS]: entries(20, () => 'x'.repeat(10_000)) }],
    ['long names told to Multus', { [MULTUS]: names(3, () => 'x'.repeat(10_000)).join() }],
  ])('%s', (_, annotations) => {
    expect(sizeOf(decoded(annotations))).toBeLessThan(8 * KIB);
  });

  test.each([ASKED, MULTUS])('of a gated pod %s is kept up to 32 KiB', (key) => {
    expect(sizeOf(decoded({ [key]: long }, true))).toBeLessThan(KIB);
    const kept = 'x'.repeat(32 * KIB);
    expect(JSON.stringify(decoded({ [key]: kept }, true).selections)).toContain(kept);
  });

  test('of the scheduling gates only the place of ours', () => {
    const gates = [...names(10_000), ASKED].map((name) => ({ name }));
    const pod = networkPods(OPEN_ACCESS).decode({
      metadata: { name: 'p' },
      spec: { schedulingGates: gates },
    });
    expect(pod.gate).toBe(10_000);
    expect(sizeOf(pod)).toBeLessThan(KIB);
  });

  test('names that are kept hold no annotation in memory', () => {
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
});

describe('a pod counts as one of the Networks', () => {
  test('that it names to Multus, as many as there may be', () => {
    expect(decoded({ [MULTUS]: names(100).join() }).asksFor).toHaveLength(100);
    expect(decoded({ [MULTUS]: names(101).join() }).asksFor).toEqual([]);
  });

  test('that Multus has attached it to, the first 100', () => {
    const status = [...names(150), 'network-0'].map((name) => ({ name, ips: ['10.0.0.2'] }));
    const { attachedTo } = decoded({ [STATUS]: JSON.stringify(status) });
    expect(attachedTo).toEqual(names(100).map((name) => ({ network: `red/${name}`, addresses: 1 })));
  });

  test('but not of what no Network can be called', () => {
    const wrong = [
      'Blue',
      'blue.green',
      'a/b/c',
      `${'x'.repeat(64)}`,
      'Red/blue',
      `${'y'.repeat(64)}/blue`,
      'blue',
    ];
    const status = JSON.stringify(wrong.map((name) => ({ name })));
    expect(decoded({ [STATUS]: status }).attachedTo).toEqual([{ network: 'red/blue', addresses: 0 }]);
    const told = JSON.stringify(wrong.map((name) => ({ name })));
    expect(decoded({ [MULTUS]: told }).asksFor).toEqual(['red/blue']);
  });
});
