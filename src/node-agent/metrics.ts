import { Counter, Gauge, type Registry } from 'prom-client';

/** What is seen of one node from outside. */
export interface NodeMetrics {
  /** So many Networks are joined with the other nodes; and whether something keeps it from more. */
  joined(networks: number, hasProblem: boolean): void;
  /** What was left of a Network has been removed. */
  leftoverRemoved(): void;
}

export function nodeMetrics(registry: Registry): NodeMetrics {
  const registers = [registry];
  const networks = new Gauge({
    name: 'envoy_initializer_node_networks',
    help: 'Networks that pods of this node can attach to, joined with the other nodes',
    registers,
  });
  const problem = new Gauge({
    name: 'envoy_initializer_node_problem',
    help: '1 while something keeps the node agent from joining a Network, which its report and its log name',
    registers,
  });
  const removed = new Counter({
    name: 'envoy_initializer_node_leftovers_removed_total',
    help: 'Bridges of Networks that were gone, and what was with them, that the node agent has removed',
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
