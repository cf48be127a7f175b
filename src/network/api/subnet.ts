import type { Network, NetworkSpec } from './types.ts';

/** What a real network looks like: as a spec asks for it, or as a provider made it. */
export interface Subnet {
  readonly cidr: string;
  readonly gateway: string;
  /** In bytes; absent where the provider decides. */
  readonly mtu?: number;
}

/** What the spec asks for. */
export function subnetOf({ cidr, gateway, mtu }: NetworkSpec): Subnet {
  return { cidr, gateway, ...(mtu !== undefined && { mtu }) };
}

/** What the status says was made; undefined where nothing was. */
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
