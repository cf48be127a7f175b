import { Counter, Gauge, type Registry } from 'prom-client';
import { keyOf } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Network } from '../api/types.ts';
import type { NetworkPod } from './network-pods.ts';

/** Counts what went wrong with the addresses and interfaces of pods. */
export interface AddressMetrics {
  /** Counts two pods with one address. */
  addressTaken(): void;
}

/** `pods` has POD_INDEXERS. */
export function addressMetrics(
  registry: Registry,
  pods: Pick<Lister<NetworkPod>, 'byIndex'>,
  networks: Pick<Lister<Network>, 'list'>,
): AddressMetrics {
  const taken = new Counter({
    name: 'envoy_initializer_network_addresses_taken_total',
    help: 'Pods on a Network with the address of an older pod',
    registers: [registry],
  });
  new Gauge({
    name: 'envoy_initializer_network_pods_unattached',
    help: 'Running pods without an interface on a Network that they ask for',
    registers: [registry],
    collect() {
      const unattached = networks.list().flatMap((network) => pods.byIndex('unattached', keyOf(network)));
      this.set(new Set(unattached).size);
    },
  });
  return { addressTaken: () => taken.inc() };
}
