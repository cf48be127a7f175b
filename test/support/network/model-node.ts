import {
  ALL_PEERS,
  type BridgeLink,
  type NodeLinks,
  type RemoteEntry,
  type TunnelLink,
} from '../../../src/networks/agent/links.ts';
import type { RunProgram } from '../../../src/networks/agent/programs.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A node's bridges and tunnels. It understands the lines of `ip -batch` and `bridge -batch` that the agent uses, and
 * throws what iproute2 would refuse. The real iproute2 runs in test/e2e.
 */
export class ModelNode {
  readonly #bridges = new Map<string, Mutable<BridgeLink>>();
  readonly #tunnels = new Map<string, Mutable<TunnelLink>>();

  /** Per bridge, how many pods are plugged into it. */
  readonly pods = new Map<string, number>();
  /** Routes, as `ip -json route show` prints them. */
  routes: readonly object[] = [];
  /** The rules of nftables. */
  rules: string | undefined;
  /** What `nft list counters` prints. */
  counters = '';
  /** Why nothing can be done with nftables. */
  nftProblem: string | undefined;
  /** Lines that fail, and why. */
  readonly broken = new Map<string, string>();
  /** The calls of programs. */
  readonly calls: string[] = [];
  onCall: (line: string) => void = () => {};

  links(): NodeLinks {
    const plugged = new Set(this.pods.keys());
    return structuredClone({ bridges: this.#bridges, tunnels: this.#tunnels, plugged, devices: [] });
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

  /** Runs programs of this node, as the agent does. */
  readonly runProgram: RunProgram = async (program, args, input = '') => {
    const line = [program, ...args].join(' ');
    this.calls.push(line);
    this.onCall(line);
    if (program === 'nft') return this.#nft(args, input);
    if (program === 'bridge' && args.includes('show')) return this.#entries();
    if (args.includes('show')) return JSON.stringify(this.#shown(line));
    const failures = input
      .trimEnd()
      .split('\n')
      .flatMap((each, index) => {
        const why = this.broken.get(each) ?? this.#refusal(each);
        this.commands.push(`${program} ${each}`);
        return why === undefined ? [] : [`${why}\nCommand failed -:${index + 1}`];
      });
    if (failures.length > 0) throw new Error(`${line} returned 1: ${failures.join('\n')}`);
    return '';
  };

  /** Runs a line. Returns what iproute2 would refuse it with. */
  #refusal(line: string): string | undefined {
    try {
      this.run(line);
      return undefined;
    } catch (error) {
      return `RTNETLINK answers: ${error instanceof Error ? error.message : error}`;
    }
  }

  #nft(args: readonly string[], input: string): string {
    const [verb] = args;
    if (args.includes('counters')) return this.counters;
    if (args.includes('FORWARD')) return fail('Error: No such file or directory');
    if (verb === 'list') return this.rules ?? fail('Error: No such file or directory');
    if (this.nftProblem !== undefined) return fail(this.nftProblem);
    this.commands.push('nft');
    this.rules = input.includes('chain') ? input : undefined;
    return '';
  }

  /** What `bridge fdb show` prints. */
  #entries(): string {
    return [...this.#tunnels]
      .flatMap(([name, { peers, fixed, learned }]) => [
        ...peers.map((dst) => `${ALL_PEERS} dev ${name} dst ${dst} self permanent`),
        ...fixed.map(({ mac, peer }) => `${mac} dev ${name} dst ${peer} self static`),
        ...learned.map(({ mac, peer }) => `${mac} dev ${name} dst ${peer} self `),
      ])
      .join('\n');
  }

  /** What iproute2 prints as JSON, as far as the agent reads it. */
  #shown(line: string): readonly object[] {
    if (line.includes('-6')) return [];
    if (line.includes('route')) return this.routes;
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
    const addr_info = [{ local: '192.0.2.1', prefixlen: 24, scope: 'global' }];
    const pods = [...this.pods].flatMap(([master, count]) =>
      Array.from({ length: count }, (_, i) => ({ ifname: `veth${i}`, master })),
    );
    return [{ ifname: 'eth0', mtu: 1500, addr_info }, ...bridges, ...tunnels, ...pods];
  }

  #add(name: string, after: (word: string) => string): void {
    if (this.#bridges.has(name) || this.#tunnels.has(name)) fail('File exists');
    if (after('type') === 'bridge') {
      this.#bridges.set(name, { mac: '', isUp: false, addresses: [] });
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
      if (tunnel.peers.includes(peer)) fail('File exists');
      tunnel.peers = [...tunnel.peers, peer];
    } else if (mac === ALL_PEERS) {
      if (!tunnel.peers.includes(peer)) fail('No such file or directory');
      tunnel.peers = tunnel.peers.filter((other) => other !== peer);
    } else {
      const isIt = (entry: RemoteEntry) => entry.mac === mac && entry.peer === peer;
      if (!tunnel.learned.some(isIt)) fail('No such file or directory');
      tunnel.learned = tunnel.learned.filter((entry) => !isIt(entry));
    }
  }

  #bridge(name: string): Mutable<BridgeLink> {
    return this.#bridges.get(name) ?? fail(`Cannot find device "${name}"`);
  }

  #tunnel(name: string): Mutable<TunnelLink> {
    return this.#tunnels.get(name) ?? fail(`Cannot find device "${name}"`);
  }
}

function fail(message: string): never {
  throw new Error(message);
}
