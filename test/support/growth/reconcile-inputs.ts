import { Store } from '../../../src/kube/cache/store.ts';
import { AddressBook } from '../../../src/networks/addresses/book.ts';
import { poolsOf } from '../../../src/networks/addresses/pool.ts';
import { withAddresses } from '../../../src/networks/addresses/request.ts';
import { unneededBridges } from '../../../src/networks/agent/bridge-plan.ts';
import { type NodeNetwork, nodeNetworkOf } from '../../../src/networks/agent/desired.ts';
import {
  ALL_PEERS,
  type NodeLinks,
  parseLinks,
  RemoteEntries,
  tunnelName,
} from '../../../src/networks/agent/links.ts';
import { nodePlan } from '../../../src/networks/agent/node-plan.ts';
import { parseRoutes, reportedRanges } from '../../../src/networks/agent/routes.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { namePods } from '../../../src/networks/controller/condition-plan.ts';
import { parseRange } from '../../../src/networks/ipam/cidr.ts';
import { ClusterRanges } from '../../../src/networks/ipam/cluster-ranges.ts';
import { RangeClaims } from '../../../src/networks/ipam/range-claims.ts';
import { FIRST_VNI } from '../../../src/networks/multus/cni-config.ts';
import { VNI_INDEXERS, Vnis } from '../../../src/networks/multus/multus-vnis.ts';
import { NODE_REPORTS } from '../../../src/networks/nodes/node-objects.ts';
import { nodesInUse } from '../../../src/networks/nodes/nodes-in-use.ts';
import { decideGate } from '../../../src/networks/pods/gate-decision.ts';
import { NetworkAccess } from '../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../src/networks/pods/network-pods.ts';
import { NetworkUsers } from '../../../src/networks/pods/network-users.ts';
import { sliced } from '../../../src/networks/services/slices.ts';
import { type GrowingInput, times } from './growing-input.ts';

const NETWORK = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';
const ACCESS = new NetworkAccess([]);
const PODS = networkPods(ACCESS);

const apart = (index: number) => `10.${(index >> 8) & 255}.${index & 255}.0/24`;

function network(index: number, cidr: string, finalizers: readonly string[] = []): Network {
  const name = `network-${index}`;
  const createdAt = `2026-01-01T00:00:${`${index}`.padStart(9, '0')}Z`;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: {
      ...{ name, namespace: 'default', uid: name, generation: 1, resourceVersion: '1' },
      ...{ creationTimestamp: createdAt, finalizers },
    },
    spec: { cidr, gateway: cidr.replace(/0\/.*/, '1') },
  };
}

/** Each Network is observed, and asks for its range, the last one first. */
const claims = (name: string, cidr: (index: number) => string): GrowingInput => ({
  name: `networks: ${name}`,
  work: (n) => {
    const networks = times(n, (i) => network(i, cidr(i)));
    return () => {
      const all = new RangeClaims(() => undefined);
      for (const each of networks) all.observe(each, true);
      for (const each of networks.toReversed()) all.claim(`default/${each.metadata.name}`);
      for (const each of networks) all.claim(`default/${each.metadata.name}`);
      for (const each of networks) all.forget(`default/${each.metadata.name}`, each.metadata.uid);
    };
  },
});

function pod(index: number, asked: string, gated = false, attachedTo: readonly object[] = []): NetworkPod {
  const annotations = { [NETWORK]: asked, [STATUS]: JSON.stringify(attachedTo) };
  return PODS.decode({
    metadata: { name: `pod-${index}`, namespace: 'default', uid: `${index}`, annotations },
    spec: { schedulingGates: gated ? [{ name: NETWORK }] : [], nodeName: `node-${index}` },
  });
}

function podsOf(n: number, make: (index: number) => NetworkPod): Store<NetworkPod> {
  const store = new Store<NetworkPod>(POD_INDEXERS);
  for (const each of times(n, make)) store.set(each);
  return store;
}

/** The cache of n Networks that are real, with the VXLAN identifiers that their status tells. */
function networksOf(n: number, vni?: (index: number) => number): Store<Network> {
  const store = new Store<Network>(VNI_INDEXERS);
  for (const index of times(n, (i) => i)) {
    const one = network(index, apart(index));
    store.set({ ...one, ...(vni && { status: { cidr: one.spec.cidr, vni: vni(index) } }) });
  }
  return store;
}

const SIX = { cidr: 'fd00::/64', gateway: 'fd00::1' };
const noDefinitions = { get: () => undefined };

const onNode = (n: number, peers: readonly string[]): readonly NodeNetwork[] =>
  times(n, (i) => {
    const one = network(i, apart(i));
    const nodes = ['here', ...peers].map((address) => ({ name: address, address }));
    return nodeNetworkOf({ ...one, status: { ...one.spec, vni: FIRST_VNI + i, mtu: 1450, nodes } }, 'here');
  }).flatMap((each) => each ?? []);
const linksOf = ({ bridge, vni, ranges }: NodeNetwork) => [
  {
    ifname: tunnelName(bridge),
    master: bridge,
    mtu: 1450,
    flags: ['UP'],
    linkinfo: { info_data: { id: vni, local: '192.0.2.1', port: 4789 } },
  },
  { ifname: bridge, addr_info: ranges.map(({ gateway }) => ({ local: gateway, prefixlen: 24 })) },
];
const planOf = (
  networks: readonly NodeNetwork[],
  links: NodeLinks,
  unneeded: ReadonlySet<string> = new Set(),
) =>
  nodePlan({
    ...{ networks, links, unneeded, due: new Set(), routes: [], port: 4789 },
    underlay: { address: '192.0.2.1', mtu: 1500 },
  });
const peersOf = (n: number, tunnel: string, mac: (index: number) => string) =>
  times(n, (i) => `${mac(i)} dev ${tunnel} dst 192.0.${i >> 8}.${i & 255} self permanent`);
const remoteOf = (lines: readonly string[]) => {
  const remote = new RemoteEntries();
  for (const line of lines) remote.add(line);
  return remote;
};
/** Far away from each other: none of the peers of one list is in the other. */
const otherPeers = (n: number) => times(n, (i) => `10.0.${i >> 8}.${i & 255}`);

export const NETWORKS: readonly GrowingInput[] = [
  claims('apart', apart),
  {
    name: 'networks: one that others of its range stand before',
    work: (n) => {
      const all = new RangeClaims(() => undefined);
      for (const each of times(n, (i) => network(i, `10.0.0.0/${8 + (i % 22)}`))) all.observe(each, true);
      return () => all.claim(`default/network-${n - 1}`);
    },
  },
  {
    name: 'networks: all of one range, as the oldest asks first',
    work: (n) => {
      const networks = times(n, (i) => network(i, '10.0.0.0/16'));
      return () => {
        const all = new RangeClaims(() => undefined);
        for (const each of networks) all.observe(each, true);
        for (const each of networks) all.claim(`default/${each.metadata.name}`);
        for (const each of networks) all.forget(`default/${each.metadata.name}`, each.metadata.uid);
      };
    },
  },
  {
    name: 'networks: one that holds others',
    work: (n) => {
      const all = new RangeClaims(() => undefined);
      for (const each of times(n, (i) => network(i, apart(i), ['samplecrd.k8s.io/network'])))
        all.observe(each, true);
      all.observe(network(n, '10.0.0.0/8'), true);
      return () => all.claim(`default/network-${n}`);
    },
  },
  {
    name: 'networks: ranges of the cluster',
    work: (n) => () => {
      const ranges = new ClusterRanges();
      for (const index of times(n, (i) => i)) ranges.set(`node ${index}`, [apart(index)]);
      for (const index of times(n, (i) => i)) {
        const range = parseRange(apart(index));
        if (range) ranges.met(range, 'node 0');
      }
    },
  },
  {
    name: 'networks: identifiers that are recorded',
    work: (n) => {
      const store = networksOf(n, (i) => FIRST_VNI + i);
      const vnis = new Vnis(store, noDefinitions);
      return () => store.list().map((each) => vnis.vniFor(each, each.status?.vni));
    },
  },
  {
    name: 'networks: identifiers that are new',
    work: (n) => {
      const vnis = new Vnis(networksOf(0), noDefinitions);
      const all = networksOf(n).list();
      return () => all.map((each) => vnis.vniFor(each, undefined));
    },
  },
  {
    name: 'networks: identifiers that are all the same',
    work: (n) => {
      const store = networksOf(n, () => FIRST_VNI);
      const last = store.list().at(-1);
      return () => last && new Vnis(store, noDefinitions).vniFor(last, FIRST_VNI);
    },
  },
];

/** What annotations of a pod may have any number of, as the cache is given the pod. */
const ANNOTATED: Readonly<Record<string, readonly [key: string, text: (n: number) => string]>> = {
  'names told to Multus': [MULTUS, (n) => times(n, (i) => `network-${i}`).join()],
  'short names told to Multus': [MULTUS, (n) => times(n, (i) => i.toString(36)).join()],
  'one name told to Multus many times': [MULTUS, (n) => times(n, () => 'one').join()],
  'names told to Multus that are none': [MULTUS, (n) => times(n, (i) => `N_${i}`).join()],
  'commas told to Multus': [MULTUS, (n) => ','.repeat(50 * n)],
  'one long name told to Multus': [MULTUS, (n) => 'x'.repeat(50 * n)],
  'objects told to Multus': [MULTUS, (n) => JSON.stringify(times(n, (i) => ({ name: `network-${i}` })))],
  'names of ours': [NETWORK, (n) => times(n, (i) => `network-${i}`).join()],
  'addresses of an element': [
    NETWORK,
    (n) => JSON.stringify([{ name: 'one', ips: times(n, () => '10.0.0.7/8') }]),
  ],
  'short addresses of an element': [
    NETWORK,
    (n) => JSON.stringify([{ name: 'one', ips: times(n, () => '::') }]),
  ],
  'addresses of each element': [
    NETWORK,
    (n) => JSON.stringify(times(n, (i) => ({ name: `n${i}`, ips: times(8, () => '10.0.0.7/8') }))),
  ],
  'entries of a status': [STATUS, (n) => JSON.stringify(times(n, (i) => ({ name: `network-${i}` })))],
  'entries of a status of one Network': [STATUS, (n) => JSON.stringify(times(n, () => ({ name: 'one' })))],
  'entries of a status that are none': [STATUS, (n) => JSON.stringify(times(n, (i) => ({ name: `N_${i}` })))],
  'one long name in a status': [STATUS, (n) => JSON.stringify([{ name: 'x'.repeat(50 * n) }])],
};
const annotatedPods = (gated: boolean, from: number): readonly GrowingInput[] =>
  Object.entries(ANNOTATED).map(([name, [key, text]]) => ({
    name: `pods: ${name}, from ${from}${gated ? ', gated' : ''}`,
    from,
    work: (n) => {
      const metadata = { name: 'pod', namespace: 'default', annotations: { [key]: text(n) } };
      const spec = { schedulingGates: gated ? [{ name: NETWORK }] : [] };
      return () => PODS.decode({ metadata, spec });
    },
  }));

export const NETWORK_PODS_INPUTS: readonly GrowingInput[] = [
  // Within the bounds of 32 and 100, and beyond them.
  ...annotatedPods(false, 8),
  ...annotatedPods(false, 2_000),
  ...annotatedPods(true, 8),
  {
    name: 'pods: of one Network',
    work: (n) => {
      const users = new NetworkUsers(
        podsOf(n, (i) => pod(i, 'one', false, [{ name: 'one', ips: ['10.0.0.2'] }])),
      );
      return () => namePods(users.usageOf('default/one').pods);
    },
  },
  {
    name: 'pods: let in, each to a Network of its own',
    work: (n) => {
      const store = podsOf(n, (i) => pod(i, `network-${i}`, true));
      return () => {
        const users = new NetworkUsers(store);
        for (const each of store.list()) users.reserve(each);
        for (const index of times(n, (i) => i)) users.usageOf(`default/network-${index}`);
        for (const each of store.list()) users.settle(each);
      };
    },
  },
  {
    name: 'pods: taken into the cache, and out of it',
    work: (n) => () => {
      const store = podsOf(n, (i) => pod(i, 'one'));
      for (const key of store.keys()) store.delete(key);
    },
  },
  {
    name: 'pods: interfaces of one',
    work: (n) => () =>
      pod(
        0,
        'one',
        false,
        times(n, (i) => ({ name: `network-${i}`, ips: ['10.0.0.2'] })),
      ),
  },
  {
    name: 'pods: addresses of one',
    work: (n) => () => pod(0, 'one', false, [{ name: 'one', ips: times(n, (i) => `10.0.0.${i}`) }]),
  },
  {
    name: 'pods: brackets in the status of one',
    work: (n) => {
      const metadata = { name: 'pod', namespace: 'default', annotations: { [STATUS]: '['.repeat(50 * n) } };
      return () => PODS.decode({ metadata, spec: {} });
    },
  },
  {
    // A /16 has 65,533.
    name: 'pods: addresses of one Network, given, taken back and given again',
    from: 16_000,
    work: (n) => {
      const pools = poolsOf({ cidr: '10.0.0.0/16', gateway: '10.0.0.1', secondary: SIX });
      return () => {
        const book = new AddressBook(pools);
        for (const index of times(n, (i) => i)) book.give({ id: `${index}`, name: '' });
        for (const index of times(n / 2, (i) => 2 * i)) book.release(`${index}`);
        for (const index of times(n / 2, (i) => i)) book.give({ id: `new ${index}`, name: '' });
      };
    },
  },
  {
    name: 'pods: a book of the addresses of one Network',
    from: 16_000,
    work: (n) => {
      const pools = poolsOf({ cidr: '10.0.0.0/16', gateway: '10.0.0.1' });
      const ips = times(n, (i) => [`10.0.${i >> 8}.${i & 255}/16`]);
      return () => {
        const book = new AddressBook(pools);
        ips.forEach((each, index) => {
          book.hold({ id: `${index}`, name: '' }, each);
        });
        book.give({ id: 'new', name: '' });
      };
    },
  },
  {
    name: 'pods: addresses into the annotation of one',
    work: (n) => {
      const networks = times(n, (i) => ({ element: { name: `network-${i}` } }));
      const text = JSON.stringify(networks.map(({ element }) => element));
      const given = new Map(times(n, (i) => [i, ['10.0.0.2/16']]));
      return () => withAddresses({ form: 'json', text, networks }, given);
    },
  },
  {
    name: 'pods: endpoints of a Service, which come and go',
    from: 500,
    work: (n) => {
      const endpoint = (i: number) => ({
        addresses: [`10.0.${i >> 8}.${i & 255}`],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod' as const, namespace: 'default', name: `pod-${i}`, uid: `${i}` },
      });
      const before = sliced('web', 'IPv4', times(n, endpoint), []);
      const after = times(n, (i) => endpoint(i + n / 2));
      return () => sliced('web', 'IPv4', after, before);
    },
  },
  {
    name: 'pods: Networks that one waits for',
    from: 20,
    work: (n) => {
      const asked = times(n, (i) => `network-${i}`).join();
      const stateOf = () => ({ kind: 'ready' as const });
      const annotated = { asked, multus: asked, namespace: 'default' };
      return () => decideGate(annotated, { access: ACCESS, stateOf });
    },
  },
];

export const NODE_INPUTS: readonly GrowingInput[] = [
  {
    name: 'nodes: of the pods of one Network',
    work: (n) => {
      const one = network(0, apart(0));
      const names = times(n, (i) => `node-${i}`);
      const report = JSON.stringify({ version: 2, ranges: [], problems: { 'default/network-0': 'no' } });
      const { current } = NODE_REPORTS.decode({ metadata: { name: 'a' }, data: { report } });
      const known = { internalIp: '192.0.2.1', report: current };
      return () => nodesInUse(one, names, () => known);
    },
  },
  {
    name: 'nodes: peers of a tunnel, that come and go',
    work: (n) => {
      const networks = onNode(1, otherPeers(n));
      const tunnel = tunnelName(networks[0]?.bridge ?? '');
      const fdb = [
        ...peersOf(n, tunnel, () => ALL_PEERS),
        ...peersOf(n, tunnel, (i) => `02:00:00:00:00:${i}`),
      ];
      const links = parseLinks(JSON.stringify(networks.flatMap(linksOf)), remoteOf(fdb));
      return () => planOf(networks, links);
    },
  },
  {
    name: 'nodes: tunnels, with a peer each',
    work: (n) => {
      const networks = onNode(n, ['192.0.2.2']);
      const links = JSON.stringify(networks.flatMap(linksOf));
      const fdb = networks.flatMap(({ bridge }) => peersOf(1, tunnelName(bridge), () => ALL_PEERS));
      return () => planOf(networks, parseLinks(links, remoteOf(fdb)));
    },
  },
  {
    name: 'nodes: bridges that nobody needs',
    work: (n) => {
      const links = parseLinks(JSON.stringify(onNode(n, []).flatMap(linksOf)), remoteOf([]));
      return () => {
        const unneeded = unneededBridges(links, () => false);
        return planOf(onNode(1, []), links, unneeded);
      };
    },
  },
  {
    name: 'nodes: routes of one',
    work: (n) => {
      const routes = parseRoutes(JSON.stringify(times(n, (i) => ({ dst: apart(i), dev: 'eth0' }))));
      return () => reportedRanges(routes, []);
    },
  },
];
