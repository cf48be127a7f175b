import { Store } from '../../../src/kube/cache/store.ts';
import { Allocations } from '../../../src/networks/addresses/allocations.ts';
import { poolsOf } from '../../../src/networks/addresses/pool.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { NetworkUsers } from '../../../src/networks/attach/network-users.ts';
import { namePods } from '../../../src/networks/controller/condition-plan.ts';
import { FIRST_VNI } from '../../../src/networks/multus/cni-config.ts';
import { MULTUS_INDEXERS, Vnis } from '../../../src/networks/multus/vnis.ts';
import { NetworkAccess } from '../../../src/networks/pods/network-access.ts';
import { networkPods, POD_INDEXERS } from '../../../src/networks/pods/network-pods.ts';
import { RangeReservations } from '../../../src/networks/ranges/range-reservations.ts';
import { type GrowingInput, times } from './growing-input.ts';

const NETWORK = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';
const PODS = networkPods(new NetworkAccess([]));

const apart = (index: number) => `10.${(index >> 8) & 255}.${index & 255}.0/24`;

function network(index: number, cidr: string): Network {
  const name = `network-${index}`;
  const createdAt = `2026-01-01T00:00:${`${index}`.padStart(9, '0')}Z`;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: {
      ...{ name, namespace: 'default', uid: name, generation: 1, resourceVersion: '1' },
      creationTimestamp: createdAt,
    },
    spec: { cidr, gateway: cidr.replace(/0\/.*/, '1') },
  };
}

/** Each Network is observed, asks for its range, the last one first, and goes. */
const claims = (name: string, cidr: (index: number) => string): GrowingInput => ({
  name: `networks: ${name}`,
  work: (n) => {
    const networks = times(n, (i) => network(i, cidr(i)));
    return () => {
      const all = new RangeReservations(() => undefined);
      for (const each of networks) all.observe(each, true);
      for (const each of networks.toReversed()) all.reserve(`default/${each.metadata.name}`);
      for (const each of networks) all.reserve(`default/${each.metadata.name}`);
      for (const each of networks) all.forget(`default/${each.metadata.name}`, each.metadata.uid);
    };
  },
});

const NETWORKS: readonly GrowingInput[] = [
  claims('apart', apart),
  {
    name: 'networks: one that others of its range stand before',
    work: (n) => {
      const all = new RangeReservations(() => undefined);
      for (const each of times(n, (i) => network(i, `10.0.0.0/${8 + (i % 22)}`))) all.observe(each, true);
      return () => all.reserve(`default/network-${n - 1}`);
    },
  },
  {
    name: 'networks: identifiers that are all the same',
    work: (n) => {
      const store = new Store<Network>(MULTUS_INDEXERS);
      for (const each of times(n, (i) => network(i, apart(i))))
        store.set({ ...each, status: { cidr: each.spec.cidr, vni: FIRST_VNI } });
      const last = store.list().at(-1);
      return () => last && new Vnis(store).vniFor(last);
    },
  },
];

/** What annotations of a pod may have any number of, as the cache is given the pod. */
const ANNOTATED: Readonly<Record<string, readonly [key: string, text: (n: number) => string]>> = {
  'short names told to Multus': [MULTUS, (n) => times(n, (i) => i.toString(36)).join()],
  'commas told to Multus': [MULTUS, (n) => ','.repeat(50 * n)],
  'objects told to Multus': [MULTUS, (n) => JSON.stringify(times(n, (i) => ({ name: `network-${i}` })))],
  'names of ours': [NETWORK, (n) => times(n, (i) => `network-${i}`).join()],
  'addresses of each element': [
    NETWORK,
    (n) => JSON.stringify(times(n, (i) => ({ name: `n${i}`, ips: times(8, () => '10.0.0.7/8') }))),
  ],
  'entries of a status': [STATUS, (n) => JSON.stringify(times(n, (i) => ({ name: `network-${i}` })))],
  'brackets in a status': [STATUS, (n) => '['.repeat(50 * n)],
};
/** Within the bounds of 32 and 100 Networks, and beyond them. */
const ANNOTATED_PODS: readonly GrowingInput[] = [8, 2_000].flatMap((from) =>
  Object.entries(ANNOTATED).map(([name, [key, text]]) => ({
    name: `pods: ${name}, from ${from}`,
    from,
    work: (n) => {
      const metadata = { name: 'pod', namespace: 'default', annotations: { [key]: text(n) } };
      return () => PODS.decode({ metadata, spec: {} });
    },
  })),
);

const PODS_OF_A_NETWORK: readonly GrowingInput[] = [
  {
    name: 'pods: of one Network',
    work: (n) => {
      const store = new Store(POD_INDEXERS);
      for (const name of times(n, (i) => `pod-${i}`)) {
        const annotations = { [NETWORK]: 'one', [STATUS]: '[{"name":"one","ips":["10.0.0.2"]}]' };
        store.set(
          PODS.decode({ metadata: { name, namespace: 'default', uid: name, annotations }, spec: {} }),
        );
      }
      return () => namePods(new NetworkUsers(store).usageOf('default/one').pods);
    },
  },
  {
    // A /16 has 65,533.
    name: 'pods: addresses of one Network, given, taken back and given again',
    from: 4_000,
    work: (n) => {
      const pools = poolsOf({ cidr: '10.0.0.0/16', gateway: '10.0.0.1' });
      return () => {
        const book = new Allocations(pools);
        for (const index of times(n, (i) => i)) book.give({ id: `${index}`, name: '' });
        for (const index of times(n / 2, (i) => 2 * i)) book.release(`${index}`);
        for (const index of times(n / 2, (i) => i)) book.give({ id: `new ${index}`, name: '' });
      };
    },
  },
];

/** What a tenant may make any number of, as the controllers work on it. */
export const RECONCILES: readonly GrowingInput[] = [...NETWORKS, ...ANNOTATED_PODS, ...PODS_OF_A_NETWORK];
