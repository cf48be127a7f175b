import { Counter, Gauge, type Registry } from 'prom-client';

/** The metrics of one node. */
export interface NodeMetrics {
  /** Sets how many Networks are joined with the other nodes, and whether there is a problem. */
  joined(networks: number, hasProblem: boolean): void;
  /** Counts the removed leftovers of a Network. */
  leftoverRemoved(): void;
}

export function nodeMetrics(registry: Registry): NodeMetrics {
  const registers = [registry];
  const networks = new Gauge({
    name: 'envoy_initializer_node_networks',
    help: 'Networks with pods on this node that are joined with the other nodes',
    registers,
  });
  const problem = new Gauge({
    name: 'envoy_initializer_node_problem',
    help: '1 while the node agent cannot join a Network; its report and its log say why',
    registers,
  });
  const removed = new Counter({
    name: 'envoy_initializer_node_leftovers_removed_total',
    help: 'Bridges that the node agent has removed, because no pod needs them',
    registers,
  });
  return {
    joined(count, hasProblem) {
      networks.set(count);
      problem.set(hasProblem ? 1 : 0);
    },
    leftoverRemoved: () => removed.inc(),
  };
}
