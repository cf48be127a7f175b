import type { Network, NetworkSpec } from './types.ts';

/** The addresses and the MTU of a network, from a spec or from a provider. */
export interface Subnet {
  readonly cidr: string;
  readonly gateway: string;
  /** In bytes; absent if the provider decides. */
  readonly mtu?: number;
}

/** What a field holds, and its name in messages; the range needs none. */
interface SubnetField {
  readonly type: 'string' | 'number';
  readonly label: string;
}

/** All fields, in the order of messages. What compares, records or describes subnets goes through this table. */
export const SUBNET_FIELDS: Readonly<Record<keyof Subnet, SubnetField>> = {
  cidr: { type: 'string', label: '' },
  gateway: { type: 'string', label: 'gateway ' },
  mtu: { type: 'number', label: 'MTU ' },
};
const FIELDS = Object.keys(SUBNET_FIELDS) as readonly (keyof Subnet)[];

/** The fields of a subnet that are set, and nothing else. */
export function pickSubnet<T extends Partial<Subnet>>(from: T): Pick<T, keyof Subnet & keyof T> {
  const set = FIELDS.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]);
  return Object.fromEntries(set) as Pick<T, keyof Subnet & keyof T>;
}

/** The subnet in the spec. */
export function subnetOf(spec: NetworkSpec): Subnet {
  return pickSubnet(spec);
}

/** The subnet in the status; undefined without a real network. */
export function recordedSubnet({ status = {} }: Network): Subnet | undefined {
  const { cidr, gateway } = status;
  return cidr === undefined || gateway === undefined ? undefined : pickSubnet({ ...status, cidr, gateway });
}

/** Whether outside data is a subnet. Further fields do not matter. */
export function isSubnet(value: unknown): value is Subnet {
  if (typeof value !== 'object' || value === null || !('cidr' in value && 'gateway' in value)) return false;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  return FIELDS.every(
    (name) => fields[name] === undefined || typeof fields[name] === SUBNET_FIELDS[name].type,
  );
}

export function sameSubnet(a: Subnet, b: Subnet): boolean {
  return FIELDS.every((field) => a[field] === b[field]);
}

/** `10.0.0.0/16, gateway 10.0.0.1, MTU 1400`. */
export function describeSubnet(subnet: Subnet): string {
  const set = FIELDS.filter((field) => subnet[field] !== undefined);
  return set.map((field) => `${SUBNET_FIELDS[field].label}${subnet[field]}`).join(', ');
}

/** `cidr 10.0.0.0/16 to 10.1.0.0/16, gateway 10.0.0.1 to 10.1.0.1`. */
export function subnetChanges(before: Subnet, after: Subnet): string {
  return FIELDS.filter((field) => before[field] !== after[field])
    .map((field) => `${field} ${before[field] ?? 'unset'} to ${after[field] ?? 'unset'}`)
    .join(', ');
}
