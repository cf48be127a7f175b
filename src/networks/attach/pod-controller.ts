import { isDeepStrictEqual } from 'node:util';
import { Counter, Gauge } from 'prom-client';
import { PODS } from '../../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import { IpamState } from '../addresses/ipam-state.ts';
import type { Network } from '../api/types.ts';
import type { ProviderRegistry } from '../controller/provider-registry.ts';
import type { ReconcileOptions } from '../controller/reconcile.ts';
import type { SplitController } from '../controller/split-controller.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { isGated, type NetworkPod, POD_INDEXERS } from '../pods/network-pods.ts';
import { NetworkUsers } from './network-users.ts';
import { PodAddresses } from './pod-addresses.ts';
import { PodGates, type PodGatesOptions } from './pod-gates.ts';

export interface PodControllerOptions
  extends Pick<PodGatesOptions, 'access' | 'events'>,
    Pick<ReconcileOptions, 'copies' | 'changing'> {
  readonly controller: SplitController;
  readonly networks: Informer<Network>;
  /** With POD_INDEXERS. */
  readonly pods: Informer<NetworkPod>;
  readonly nodes: Informer<ClusterNode>;
  readonly networkNodes: PodGatesOptions['nodes'];
  readonly providers: ProviderRegistry;
  readonly networkQueue: SplitController['queue'];
  /** How often every gated pod is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
  /** Resolves when the leader knows all that pods on Networks depend on. */
  readonly after: Task;
}

/** Pods of a Deployment change together: one reconcile of their Network covers all changes within this time. */
export const GATHER_MS = 200;

/**
 * Sets up the controller that gives pods their addresses, removes their gates when Networks are Ready, and requeues
 * Networks when their users change. Returns these users.
 */
export function setUpPodController(manager: Manager, options: PodControllerOptions): NetworkUsers {
  const { controller, access, pods, networks, copies, nodes, providers, resyncMs } = options;
  const { queue } = controller;
  const client = manager.leaderClient;
  const ipam = new IpamState({
    pods: pods.lister,
    networks: copies,
    gives: (network) => providers.maker(network)?.takesAddresses ?? false,
    isAway: (node) => nodes.lister.get(node)?.isAway ?? false,
    onFreed: (network) => {
      for (const pod of waitingFor(pods.lister, network)) queue.addAfter(keyOf(pod), GATHER_MS);
    },
  });
  const users = new NetworkUsers(pods.lister, ipam);
  const addresses = new PodAddresses({ ...options, client, ipam, networks: copies });
  nodes.addEventHandler({
    onUpdate: (previous, { metadata: { name }, isAway }) => {
      if (previous.isAway && !isAway) ipam.nodeChanged(name);
    },
    onDelete: ({ metadata: { name } }) => ipam.nodeChanged(name),
  });
  pods.addEventHandler(podHandler(options, ipam, users), { resyncMs });
  const wake = (network: Network) => {
    for (const pod of waitingFor(pods.lister, keyOf(network))) queue.add(keyOf(pod));
  };
  networks.addEventHandler({
    onAdd: wake,
    onUpdate: (_, network) => wake(network),
    onDelete: (network) => {
      // Frees the memory of its addresses.
      ipam.of(keyOf(network));
      wake(network);
    },
  });
  const registers = [manager.registry];
  const taken = new Counter({
    name: 'envoy_initializer_network_addresses_taken_total',
    help: 'Pods on a Network with the address of an older pod',
    registers,
  });
  new Gauge({
    name: 'envoy_initializer_network_pods_unattached',
    help: 'Running pods that lack an interface they asked for',
    registers,
    collect() {
      const unattached = networks.lister
        .list()
        .flatMap((network) => pods.lister.byIndex('unattached', keyOf(network)));
      this.set(new Set(unattached).size);
    },
  });
  const gates = new PodGates({
    ...{ client, pods: pods.lister, users, ipam, addresses, access },
    stateOf: (key) => providers.stateOf(key, copies.get(key)),
    ...{ nodes: options.networkNodes, events: options.events },
    onConflict: () => taken.inc(),
  });
  manager.singleton('pending-addresses', async () => ipam.sweep(), { everyMs: resyncMs / 2 });
  controller.reconcile(gates.reconcile, {
    waiting: (key) => regardingOf(PODS, pods.lister.get(key)),
    keys: () => pods.lister.list().map(keyOf),
    after: options.after,
    ended: () => addresses.forget(),
  });
  return users;
}

function podHandler(
  { controller: { queue }, networks, networkQueue }: PodControllerOptions,
  ipam: IpamState,
  users: NetworkUsers,
) {
  const usersChanged = (keys: readonly ObjectKey[]) => {
    for (const key of new Set(keys)) if (networks.lister.get(key)) networkQueue.addAfter(key, GATHER_MS);
  };
  return {
    onAdd(pod: NetworkPod) {
      ipam.changed(pod);
      queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
    onUpdate(previous: NetworkPod, current: NetworkPod) {
      const isChanged = !isDeepStrictEqual(uses(previous), uses(current));
      if (isChanged) ipam.changed(current, previous);
      if (isChanged || isGated(current) || current.lacks.length > 0 || previous === current)
        queue.add(keyOf(current));
      if (!isGated(current)) users.settle(current);
      if (isChanged) usersChanged([...POD_INDEXERS.user(previous), ...POD_INDEXERS.user(current)]);
    },
    onDelete(pod: NetworkPod) {
      ipam.deleted(pod);
      users.settle(pod);
      queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
  };
}

/** The part of a pod that Networks depend on. */
function uses({ metadata, labels, isReady, hostname, ...rest }: NetworkPod): unknown {
  return rest;
}

function waitingFor(pods: Pick<Lister<NetworkPod>, 'byIndex'>, network: ObjectKey): readonly NetworkPod[] {
  return [...pods.byIndex('gated', network), ...pods.byIndex('lacking', network)];
}
