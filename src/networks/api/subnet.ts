import type { Network, NetworkSpec } from './types.ts';

export type GatewayRange = Pick<NetworkSpec, 'cidr' | 'gateway'>;

/**
 * The addresses and the MTU of a network, from a spec or from a provider: `secondary` is the range of the other family, if
 * it has one, and `mtu` is in bytes, and absent if the provider decides.
 */
export type Subnet = Pick<NetworkSpec, 'cidr' | 'gateway' | 'secondary' | 'mtu'>;

/**
 * All fields, in the order of messages, and their text there. What compares, records or describes subnets goes through
 * this table.
 */
export const SUBNET_FIELDS: Readonly<Record<keyof Subnet, (value: Subnet[keyof Subnet]) => string>> = {
  cidr: textOf,
  gateway: (value) => `gateway ${textOf(value)}`,
  secondary: (value) => `and ${textOf(value)}`,
  mtu: (value) => `MTU ${textOf(value)}`,
};
const FIELDS = Object.keys(SUBNET_FIELDS) as readonly (keyof Subnet)[];

/** The fields of a subnet that are set, and nothing else. */
export function pickSubnet<T extends Partial<Subnet>>(from: T): Pick<T, keyof Subnet & keyof T> {
  const set = FIELDS.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]);
  return Object.fromEntries(set) as Pick<T, keyof Subnet & keyof T>;
}

/** The ranges of a subnet with their gateways: one, or one for each family. */
export function rangesOf({ cidr, gateway, secondary }: Subnet): readonly GatewayRange[] {
  return [{ cidr, gateway }, ...(secondary ? [secondary] : [])];
}

export function subnetOf(spec: NetworkSpec): Subnet {
  return pickSubnet(spec);
}

/** The subnet in the status; undefined without a real network. */
export function recordedSubnet({ status = {} }: Network): Subnet | undefined {
  const { cidr, gateway } = status;
  return cidr === undefined || gateway === undefined ? undefined : pickSubnet({ ...status, cidr, gateway });
}

export function sameSubnet(a: Subnet, b: Subnet): boolean {
  return FIELDS.every((field) => textOf(a[field]) === textOf(b[field]));
}

/** `10.0.0.0/16, gateway 10.0.0.1, MTU 1400`. */
export function describeSubnet(subnet: Subnet): string {
  const set = FIELDS.filter((field) => subnet[field] !== undefined);
  return set.map((field) => SUBNET_FIELDS[field](subnet[field])).join(', ');
}

/** `cidr 10.0.0.0/16 to 10.1.0.0/16, gateway 10.0.0.1 to 10.1.0.1`. */
export function subnetChanges(before: Subnet, after: Subnet): string {
  return FIELDS.filter((field) => textOf(before[field]) !== textOf(after[field]))
    .map((field) => `${field} ${textOf(before[field])} to ${textOf(after[field])}`)
    .join(', ');
}

function textOf(value: Subnet[keyof Subnet]): string {
  return typeof value === 'object' ? `${value.cidr}, gateway ${value.gateway}` : `${value ?? 'unset'}`;
}
