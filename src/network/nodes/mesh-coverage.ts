import type { Lister } from '../../kube/cache/store.ts';
import { formatRange } from '../ipam/cidr.ts';
import type { ClusterNode } from '../ipam/cluster-objects.ts';
import type { MeshNetwork } from '../providers/multus/cni-config.ts';
import type { MultusReason } from '../providers/multus/reasons.ts';
import type { Limit as LimitFor } from '../providers/provider.ts';
import { type NodeCoverage, singleNodeOnly } from './cluster-nodes.ts';
import { meshMtu } from './mesh-network.ts';
import type { ReportObject, TableObject } from './node-objects.ts';
import { type NodeTable, own, type TableEntry } from './node-table.ts';
import { sliceCapacity, sliceCount } from './slices.ts';

type Limit = LimitFor<MultusReason>;

export interface MeshCoverageOptions {
  readonly nodes: Pick<Lister<ClusterNode>, 'list' | 'size'>;
  /** The table; undefined if it does not exist yet. */
  readonly table: () => TableObject | undefined;
  /** The report of the node's agent; undefined if it does not exist. */
  readonly reportOf: (node: string) => ReportObject | undefined;
}

/** A message names at most this many nodes, and counts the others. */
const NAMED_NODES = 3;

/** Coverage of networks that node agents join: complete when every schedulable node has reported the network. */
export function meshCoverage({ nodes, table, reportOf }: MeshCoverageOptions): NodeCoverage {
  const entries = () => table()?.table ?? {};
  const open = () => nodes.list().filter(({ isOpen }) => isOpen);

  function limitOf(network: MeshNetwork | undefined): Limit | undefined {
    // A network that is separate on each node stays so while pods use it.
    if (!network) return singleNodeOnly(nodes.size);
    const names = open()
      .map(({ metadata }) => metadata.name)
      .toSorted();
    return tooManyNodes(network, names, entries()) ?? notJoined(network, names);
  }

  function notJoined(network: MeshNetwork, names: readonly string[]): Limit | undefined {
    const missing = names.flatMap((name) => {
      const why = whyNotJoined(network, own(entries(), name), table()?.digest, reportOf(name));
      return why === undefined ? [] : [`${name} (${why})`];
    });
    if (missing.length === 0) return undefined;
    const message = `pods on these nodes would not be on the network: ${listed(missing)}`;
    return { reason: 'NodesNotJoined', message };
  }

  return {
    limitOf,
    mesh: {
      mtu: () => meshMtu(entries()),
      capacityOf({ range, gateway }) {
        const numbers = [0, ...Object.values(entries()).map(({ number }) => number)];
        const sum = numbers.reduce((total, number) => total + sliceCapacity(range, gateway, number), 0);
        return Math.min(sum, Number.MAX_SAFE_INTEGER);
      },
    },
  };
}

/** Why the node is not joined; undefined if it is. */
function whyNotJoined(
  { key, digest }: MeshNetwork,
  entry: TableEntry | undefined,
  table: string | undefined,
  found: ReportObject | undefined,
): string | undefined {
  if (!entry) return 'it has no number yet';
  const report = found?.report;
  if (!report) return 'its node agent has not reported';
  const isCurrent = report.table === table && report.number === entry.number;
  if (isCurrent && Object.hasOwn(report.networks, key) && report.networks[key] === digest) return undefined;
  return report.problem ?? 'its node agent is not done yet';
}

function tooManyNodes({ range }: MeshNetwork, names: readonly string[], table: NodeTable): Limit | undefined {
  const count = sliceCount(range);
  const without = names.filter((name) => (own(table, name)?.number ?? 0) >= count);
  if (without.length === 0) return undefined;
  const message = `${formatRange(range)} has addresses for ${count === 2 ? 'one node' : `${count - 1} nodes`}, but none for ${listed(without)}: use a larger range or fewer nodes`;
  return { reason: 'TooManyNodes', message };
}

function listed(names: readonly string[]): string {
  const named = names.slice(0, NAMED_NODES).join(', ');
  return names.length > NAMED_NODES ? `${named} and ${names.length - NAMED_NODES} more` : named;
}
