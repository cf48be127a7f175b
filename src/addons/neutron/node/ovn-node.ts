import { dirname, join } from 'node:path';
import { keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import { isThere } from '../../../networks/agent/replace-file.ts';
import type { Network } from '../../../networks/api/types.ts';
import { readOvnInterfaces } from './ovs-database.ts';

export interface OvnNodeOptions {
  /** The name of the node. */
  readonly node: string;
  /** Where the node's container runtime looks for plugins. */
  readonly plugins: string;
  /** A directory with an entry for each interface of the node's network: `/proc/sys/net/ipv4/conf`. */
  readonly interfaces: string;
  /** The socket of Open vSwitch's database. Without its directory, the database is not read. */
  readonly database: string;
  readonly nowMs: () => number;
}

/** How ovs-cni names the devices of pods. */
const POD_DEVICE = /^veth/;
/** ovn-controller connects a port within a second. */
const GRACE_MS = 10_000;
/** A problem names at most this many ports, and counts the others. */
const NAMED_PORTS = 2;

/** Checks what Networks of provider neutron need on a node. */
export class OvnNode {
  readonly #options: OvnNodeOptions;
  /** When each device was first seen without a connection. */
  #unconnected: ReadonlyMap<string, number> = new Map();

  constructor(options: OvnNodeOptions) {
    this.#options = options;
  }

  /** Why Networks of provider neutron with pods on this node do not work on it, by their keys. */
  async problems(networks: readonly Network[]): Promise<Readonly<Record<ObjectKey, string>>> {
    const here = networks.filter(
      ({ status }) =>
        status?.provider === 'neutron' && status.nodes?.some(({ name }) => name === this.#options.node),
    );
    if (here.length === 0) return {};
    const problem = (await this.#lacks()) ?? (await this.#databaseProblem());
    return problem === undefined ? {} : Object.fromEntries(here.map((network) => [keyOf(network), problem]));
  }

  /** ovn-controller makes the bridge br-int when it starts. */
  async #lacks(): Promise<string | undefined> {
    const { plugins, interfaces } = this.#options;
    const lacks = [
      ...((await isThere(join(plugins, 'ovs'))) ? [] : ['no CNI plugin ovs: install ovs-cni']),
      ...((await isThere(join(interfaces, 'br-int'))) ? [] : ['no bridge br-int: start ovn-controller']),
    ];
    return lacks.length === 0 ? undefined : `it has ${lacks.join(', and ')}`;
  }

  async #databaseProblem(): Promise<string | undefined> {
    const { database, nowMs } = this.#options;
    if (!(await isThere(dirname(database)))) return undefined;
    try {
      const now = nowMs();
      const unconnected = (await readOvnInterfaces(database)).filter(
        ({ name, isConnected }) => POD_DEVICE.test(name) && !isConnected,
      );
      this.#unconnected = new Map(unconnected.map(({ name }) => [name, this.#unconnected.get(name) ?? now]));
      const late = unconnected.filter(({ name }) => now - (this.#unconnected.get(name) ?? now) >= GRACE_MS);
      return late.length === 0 ? undefined : describe(late.map(({ port }) => port));
    } catch (error) {
      return `Open vSwitch does not answer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

function describe(ports: readonly string[]): string {
  const more = ports.length > NAMED_PORTS ? ` and ${ports.length - NAMED_PORTS} more` : '';
  const named = ports.slice(0, NAMED_PORTS).join(', ');
  return `its ovn-controller does not connect the ports ${named}${more}: see its log, and external-ids:ovn-remote`;
}
