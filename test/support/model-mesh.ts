import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { keyOf } from '../../src/kube/api/object.ts';
import { Store } from '../../src/kube/cache/store.ts';
import type { Network } from '../../src/network/api/types.ts';
import type { ClusterNode } from '../../src/network/ipam/cluster-objects.ts';
import type { NodeCoverage } from '../../src/network/nodes/cluster-nodes.ts';
import { meshCoverage } from '../../src/network/nodes/mesh-coverage.ts';
import { meshNetworkOf } from '../../src/network/nodes/mesh-network.ts';
import type { TableObject } from '../../src/network/nodes/node-objects.ts';
import { digestOf, type NodeTable, nextTable } from '../../src/network/nodes/node-table.ts';
import type { OldNodeReport as NodeReport } from '../../src/network/nodes/old-report.ts';
import { Host } from '../../src/node-agent/host.ts';
import { Joiner } from '../../src/node-agent/joiner.ts';
import { leftoversOf } from '../../src/node-agent/leftovers.ts';
import { SLICES } from '../../src/node-agent/slice-ipam.ts';
import { ModelNode } from './model-node.ts';

/** The nodes of a cluster, each with a node agent on a model of iproute2. */
export class ModelMesh {
  readonly coverage: NodeCoverage;
  readonly #nodes = new Store<ClusterNode>();
  readonly #reports = new Map<string, NodeReport>();
  readonly #agents = new Map<string, { readonly node: ModelNode; readonly root: string }>();
  #table: NodeTable = {};

  constructor() {
    this.coverage = meshCoverage({
      nodes: this.#nodes,
      table: () => this.#tableObject(),
      reportOf: (name) => ({ metadata: { name }, text: undefined, report: this.#reports.get(name) }),
    });
  }

  /** Makes these the nodes of the cluster: the addresses by their names. */
  async setNodes(addresses: Readonly<Record<string, readonly string[]>>): Promise<void> {
    for (const name of this.#nodes.keys()) if (!Object.hasOwn(addresses, name)) this.#nodes.delete(name);
    for (const [name, own] of Object.entries(addresses)) {
      const metadata = { name, uid: `uid-of-${name}` };
      this.#nodes.set({ metadata, cidrs: [], addresses: own, isOpen: true, isAway: false });
      if (this.#agents.has(name)) continue;
      const root = await mkdtemp(join(tmpdir(), 'model-mesh-'));
      this.#agents.set(name, { node: new ModelNode(), root });
    }
    const nodes = this.#nodes.list().map(({ metadata, addresses: own }) => {
      return { name: metadata.name, uid: metadata.uid ?? '', addresses: own };
    });
    this.#table = nextTable(this.#table, nodes, () => false);
  }

  /** A round of each agent: it joins the networks, and removes what is left of others. */
  async round(networks: readonly Network[]): Promise<void> {
    for (const name of this.#nodes.keys()) {
      const { node, root } = this.#agent(name);
      const host = new Host(root, node.programs);
      const joiner = new Joiner({
        node: name,
        host,
        table: () => this.#tableObject().text,
        networks: (mtu) => networks.flatMap((network) => meshNetworkOf(network, mtu) ?? []),
        needed: () => new Set(),
        log: pino({ level: 'silent' }),
      });
      this.#reports.set(name, await joiner.join());
      for (const leftover of leftoversOf(await host.state(), networks.map(keyOf)))
        await host.remove(leftover);
    }
  }

  /** The commands that changed the node since the last call. */
  commands(name: string): readonly string[] {
    return this.#agent(name).node.commands.splice(0);
  }

  /** The files by which the node gives out addresses: those of its pods first, then with those that pods choose. */
  async slices(name: string): Promise<Readonly<Record<string, readonly string[]>>> {
    const folder = join(this.#agent(name).root, SLICES);
    const bridges = await readdir(folder).catch(() => []);
    const read = async (bridge: string) =>
      [bridge, (await readFile(join(folder, bridge), 'utf8')).trimEnd().split('\n')] as const;
    return Object.fromEntries(await Promise.all(bridges.sort().map(read)));
  }

  async close(): Promise<void> {
    for (const { root } of this.#agents.values()) await rm(root, { recursive: true });
  }

  #agent(name: string) {
    const agent = this.#agents.get(name);
    if (!agent) throw new Error(`there is no node ${name}`);
    return agent;
  }

  #tableObject(): TableObject & { readonly text: string } {
    const text = JSON.stringify(this.#table);
    return { metadata: { name: 'nodes' }, text, table: this.#table, digest: digestOf(text) };
  }
}
