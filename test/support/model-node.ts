import {
  ALL_PEERS,
  type BridgeLink,
  type NodeLinks,
  type RemoteEntry,
  type TunnelLink,
} from '../../src/node-agent/links.ts';
import type { Programs } from '../../src/node-agent/programs.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A node's bridges and tunnels. It understands the lines of `ip -batch` and `bridge -batch` that the agent uses, and
 * throws what iproute2 would refuse. The real iproute2 runs in test/e2e.
 */
export class ModelNode {
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
    const name = ['dev', 'name', 'delete'].filter((word) => words.includes(word)).map(after)[0] ?? '';
    if (object === 'fdb') this.#fdb(verb, words[2] ?? '', this.#tunnel(name), after('dst'));
    else if (object === 'address') this.#address(verb, words[2] ?? '', this.#bridge(name));
    else if (verb === 'add') this.#add(name, after);
    else if (verb === 'delete') this.#tunnels.delete(name) || this.#bridges.delete(name) || fail(line);
    else this.#set(name, words, after);
  }

  /** What changed the node, one command each; a batch is one command for each line. */
  readonly commands: string[] = [];

  /** The programs of this node, as the agent runs them. */
  readonly programs: Programs = async (program, args, input = '') => {
    const line = [program, ...args].join(' ');
    if (args.includes('show')) return JSON.stringify(this.#shown(line));
    if (line.endsWith('-save -t nat')) return '';
    const lines = args.includes('-batch') ? input.trimEnd().split('\n') : [args.join(' ')];
    for (const each of lines) {
      this.run(each);
      this.commands.push(`${program} ${each}`);
    }
    return '';
  };

  /** What iproute2 prints as JSON, as far as the agent reads it. */
  #shown(line: string): readonly object[] {
    if (line.includes('route')) return [];
    if (line.startsWith('bridge')) {
      return [...this.#tunnels].flatMap(([ifname, { peers, fixed, learned }]) => [
        ...peers.map((dst) => ({ ifname, mac: ALL_PEERS, dst })),
        ...fixed.map(({ mac, peer }) => ({ ifname, mac, dst: peer, state: 'static' })),
        ...learned.map(({ mac, peer }) => ({ ifname, mac, dst: peer })),
      ]);
    }
    const flags = (isUp: boolean) => (isUp ? ['UP'] : []);
    const bridges = [...this.#bridges].map(([ifname, { mac, isUp, addresses }]) => {
      const split = addresses.map((address) => address.split('/'));
      const addr_info = split.map(([local, length]) => ({ local, prefixlen: Number(length) }));
      return { ifname, address: mac, flags: flags(isUp), addr_info };
    });
    const tunnels = [...this.#tunnels].map(([ifname, tunnel]) => {
      const { vni: id, local, port, mtu, bridge: master, isUp, suppressesNeighbours } = tunnel;
      const linkinfo = {
        info_data: { id, local, port },
        info_slave_data: { neigh_suppress: suppressesNeighbours },
      };
      return { ifname, mtu, master, flags: flags(isUp), linkinfo };
    });
    return [...bridges, ...tunnels];
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
