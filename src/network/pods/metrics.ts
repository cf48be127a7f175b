import { Counter, type Registry } from 'prom-client';

/** Counts what went wrong with the addresses of pods. */
export interface AddressMetrics {
  /** Counts two pods with one address. */
  addressTaken(): void;
}

export function addressMetrics(registry: Registry): AddressMetrics {
  const taken = new Counter({
    name: 'envoy_initializer_network_addresses_taken_total',
    help: 'Pods on a Network with the address of an older pod',
    registers: [registry],
  });
  return { addressTaken: () => taken.inc() };
}
