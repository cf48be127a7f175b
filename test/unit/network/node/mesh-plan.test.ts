import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FIRST_VNI, type JoinedNetwork, joinedNetwork } from '../../../../src/network/cni-config.ts';
import {
  ALL_PEERS,
  type BridgeLink,
  type NodeLinks,
  type RemoteEntry,
  type TunnelLink,
  tunnelName,
} from '../../../../src/network/node/links.ts';
import { meshPlan } from '../../../../src/network/node/mesh-plan.ts';

function network(name: string, cidr: string, gateway: string, number: number, mtu = 1450): JoinedNetwork {
  const mesh = { vni: FIRST_VNI + number, mtu };
  const joined = joinedNetwork(`default/${name}`, { cidr, gateway }, mesh);
  if (!joined) throw new Error('this is not what agents join');
  return joined;
}

const none: NodeLinks = { bridges: new Map(), tunnels: new Map(), pods: new Map(), others: [] };
const blue = network('blue', '10.20.0.0/24', '10.20.0.1', 1);

test('what there is to do on a node that has nothing', () => {
  const green = network('green', 'fd00:1::/64', 'fd00:1::1', 2);
  const [first, second] = meshPlan([blue, green], { local: '192.0.2.1', peers: ['192.0.2.2'] }, none);
  const [bridge, tunnel] = [blue.bridge, first?.tunnel];
  expect(first?.ip).toEqual([
    `link add name ${bridge} address 02:6e:77:80:00:01 type bridge`,
    `link set dev ${bridge} up`,
    `address add 10.20.0.1/24 dev ${bridge}`,
    `link add name ${tunnel} mtu 1450 type vxlan id 8388609 local 192.0.2.1 dstport 4789`,
    `link set dev ${tunnel} addrgenmode none`,
    `link set dev ${tunnel} master ${bridge}`,
    `link set dev ${tunnel} type bridge_slave neigh_suppress on`,
    `link set dev ${tunnel} up`,
  ]);
  expect(first?.bridge).toEqual([
    `fdb replace 02:6e:77:80:00:01 dev ${tunnel} dst 192.0.2.1 static`,
    `fdb append ${ALL_PEERS} dev ${tunnel} dst 192.0.2.2`,
  ]);
  expect(second?.ip).toContain(`address add fd00:1::1/64 dev ${green.bridge} nodad`);
});

const networks = fc.subarray([
  blue,
  network('blue', '10.21.0.0/24', '10.21.0.1', 1),
  network('blue', '10.20.0.0/24', '10.20.0.1', 7, 1400),
  network('green', 'fd00:1::/64', 'fd00:1::1', 2),
  network('red', '10.22.0.0/16', '10.22.0.9', 3),
]);
/** Of one name there is one Network. */
const different = networks.map((all) => [...new Map(all.map((one) => [one.key, one])).values()]);
const underlay = fc.record({
  local: fc.constantFrom('192.0.2.1', '192.0.2.9'),
  peers: fc.subarray(['192.0.2.2', '192.0.2.3', '192.0.2.4']),
});

describe('from whatever a node had, and whatever it has heard', () => {
  test('one round brings it to what there should be, the next has nothing to do, and none removes a tunnel', () => {
    const round = fc.record({
      networks: different,
      underlay,
      heard: fc.constantFrom('192.0.2.2', '192.0.2.3'),
    });
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), (rounds) => {
        const node = new ModelNode();
        const ever = new Set<string>();
        for (const { networks: wanted, underlay: by, heard } of rounds) {
          node.hear(heard);
          for (const { ip, bridge } of meshPlan(wanted, by, node.links()))
            for (const line of [...ip, ...bridge]) node.run(line);
          expect(meshPlan(wanted, by, node.links())).toEqual([]);
          const { tunnels, bridges } = node.links();
          for (const { bridge } of wanted) ever.add(tunnelName(bridge));
          expect(new Set(tunnels.keys())).toEqual(ever);
          for (const { bridge } of wanted) {
            const tunnel = tunnels.get(tunnelName(bridge));
            if (!tunnel) throw new Error('it is one of those that there are');
            expect(tunnel).toMatchObject({ local: by.local, isUp: true, suppressesNeighbours: true });
            expect(new Set(tunnel.peers)).toEqual(new Set(by.peers));
            expect(tunnel.learned.filter(({ peer }) => !by.peers.includes(peer))).toEqual([]);
          }
          for (const { bridge, vni, gateway, range } of wanted) {
            const found = [...tunnels.values()].filter((tunnel) => tunnel.bridge === bridge);
            expect(found).toMatchObject([{ vni }]);
            expect(bridges.get(bridge)?.addresses).toEqual([`${gateway}/${range.prefixLength}`]);
          }
        }
      }),
    );
  });
});

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Understands the lines as far as they are used; what iproute2 would refuse, it throws. The real one is asked in test/e2e. */
class ModelNode {
  readonly #bridges = new Map<string, Mutable<BridgeLink>>();
  readonly #tunnels = new Map<string, Mutable<TunnelLink>>();

  links(): NodeLinks {
    return structuredClone({ bridges: this.#bridges, tunnels: this.#tunnels, pods: new Map(), others: [] });
  }

  /** A packet of a pod comes in by every tunnel. */
  hear(peer: string): void {
    for (const tunnel of this.#tunnels.values()) {
      tunnel.learned = [{ mac: '02:00:00:00:00:99', peer }];
    }
  }

  run(line: string): void {
    const words = line.split(' ');
    const after = (word: string) => words[words.indexOf(word) + 1] ?? '';
    const [object, verb] = words;
    const name = after(words.includes('dev') ? 'dev' : 'name');
    if (object === 'fdb') this.#fdb(verb, words[2] ?? '', this.#tunnel(name), after('dst'));
    else if (object === 'address') this.#address(verb, words[2] ?? '', this.#bridge(name));
    else if (verb === 'add') this.#add(name, after);
    else if (verb === 'delete') this.#tunnels.delete(name) || fail(line);
    else this.#set(name, words, after);
  }

  #add(name: string, after: (word: string) => string): void {
    if (this.#bridges.has(name) || this.#tunnels.has(name)) fail(`${name} exists`);
    if (after('type') === 'bridge') {
      this.#bridges.set(name, { mac: after('address'), isUp: false, addresses: [] });
      return;
    }
    const fresh = {
      bridge: undefined,
      isUp: false,
      suppressesNeighbours: false,
      peers: [],
      fixed: [],
      learned: [],
    };
    const numbers = { vni: Number(after('id')), port: Number(after('dstport')), mtu: Number(after('mtu')) };
    this.#tunnels.set(name, { ...fresh, ...numbers, local: after('local') });
  }

  #set(name: string, words: readonly string[], after: (word: string) => string): void {
    const link = this.#bridges.get(name) ?? this.#tunnel(name);
    if (words.includes('up')) link.isUp = true;
    if (words.includes('address')) this.#bridge(name).mac = after('address');
    if (words.includes('master')) this.#tunnel(name).bridge = after('master');
    if (words.includes('neigh_suppress')) this.#tunnel(name).suppressesNeighbours = true;
    if (words.includes('mtu')) this.#tunnel(name).mtu = Number(after('mtu'));
  }

  #address(verb: string | undefined, address: string, bridge: Mutable<BridgeLink>): void {
    if (bridge.addresses.includes(address) === (verb === 'add')) fail(`${verb} ${address}`);
    const others = bridge.addresses.filter((other) => other !== address);
    bridge.addresses = verb === 'add' ? [...others, address] : others;
  }

  #fdb(verb: string | undefined, mac: string, tunnel: Mutable<TunnelLink>, peer: string): void {
    if (verb === 'replace') {
      tunnel.fixed = [...tunnel.fixed.filter((entry) => entry.mac !== mac), { mac, peer }];
    } else if (verb === 'append') {
      if (tunnel.peers.includes(peer)) fail(`${peer} exists`);
      tunnel.peers = [...tunnel.peers, peer];
    } else if (mac === ALL_PEERS) {
      if (!tunnel.peers.includes(peer)) fail(`there is no ${peer}`);
      tunnel.peers = tunnel.peers.filter((other) => other !== peer);
    } else {
      const isIt = (entry: RemoteEntry) => entry.mac === mac && entry.peer === peer;
      if (!tunnel.learned.some(isIt)) fail(`there is no ${mac}`);
      tunnel.learned = tunnel.learned.filter((entry) => !isIt(entry));
    }
  }

  #bridge(name: string): Mutable<BridgeLink> {
    return this.#bridges.get(name) ?? fail(`there is no ${name}`);
  }

  #tunnel(name: string): Mutable<TunnelLink> {
    return this.#tunnels.get(name) ?? fail(`there is no ${name}`);
  }
}

function fail(message: string): never {
  throw new Error(message);
}
