import type { Network, NetworkSpec } from './types.ts';

/** The addresses and the MTU of a network, from a spec or from a provider. */
export interface Subnet {
  readonly cidr: string;
  readonly gateway: string;
  /** In bytes; absent if the provider decides. */
  readonly mtu?: number;
}

/** The subnet in the spec. */
export function subnetOf({ cidr, gateway, mtu }: NetworkSpec): Subnet {
  return { cidr, gateway, ...(mtu !== undefined && { mtu }) };
}

/** The subnet in the status; undefined without a real network. */
export function recordedSubnet({ status }: Network): Subnet | undefined {
  if (status?.cidr === undefined || status.gateway === undefined) return undefined;
  return subnetOf({
    cidr: status.cidr,
    gateway: status.gateway,
    ...(status.mtu !== undefined && { mtu: status.mtu }),
  });
}

export function sameSubnet(a: Subnet, b: Subnet): boolean {
  return a.cidr === b.cidr && a.gateway === b.gateway && a.mtu === b.mtu;
}
