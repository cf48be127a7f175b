import { isArray, isObject, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import { UnusableAnswerError } from './openstack/error.ts';

/** For each of our names, the field of Neutron's API v2.0 and how it is read. */
type Fields = Readonly<
  Record<string, readonly [key: string, read: (item: JsonObject, key: string) => unknown]>
>;
type Decoded<F extends Fields> = { readonly [Name in keyof F]: ReturnType<F[Name][1]> };

/** One kind of resource: its names in paths and bodies, and its decoder. */
export interface Collection<T> {
  readonly plural: string;
  readonly singular: string;
  readonly fields: readonly string[];
  readonly decode: (value: unknown) => T;
}

function collection<const F extends Fields>(singular: string, table: F): Collection<Decoded<F>> {
  const entries = Object.entries(table);
  return {
    singular,
    plural: `${singular}s`,
    fields: entries.map(([, [key]]) => key),
    decode(value) {
      if (!isObject(value)) throw unusable(`a ${singular}`, value);
      return Object.fromEntries(entries.map(([name, [key, read]]) => [name, read(value, key)])) as Decoded<F>;
    },
  };
}

export const NEUTRON_NETWORKS = collection('network', {
  id: ['id', idIn],
  name: ['name', textIn],
  description: ['description', textIn],
  mtu: ['mtu', numberIn],
  tags: ['tags', textsIn],
  /** RFC 3339, whole seconds. */
  createdAt: ['created_at', textIn],
  revision: ['revision_number', numberIn],
  subnetIds: ['subnets', textsIn],
});
export type NeutronNetwork = ReturnType<typeof NEUTRON_NETWORKS.decode>;

export interface AddressPool {
  readonly start: string;
  readonly end: string;
}

export const NEUTRON_SUBNETS = collection('subnet', {
  id: ['id', idIn],
  networkId: ['network_id', idIn],
  name: ['name', textIn],
  description: ['description', textIn],
  cidr: ['cidr', textIn],
  gateway: ['gateway_ip', ownString],
  pools: [
    'allocation_pools',
    (item, key): readonly AddressPool[] =>
      ownObjects(item, key).map((pool) => ({ start: textIn(pool, 'start'), end: textIn(pool, 'end') })),
  ],
  revision: ['revision_number', numberIn],
});
export type NeutronSubnet = ReturnType<typeof NEUTRON_SUBNETS.decode>;

export const NEUTRON_PORTS = collection('port', {
  id: ['id', idIn],
  networkId: ['network_id', idIn],
  name: ['name', textIn],
  /** For example `compute:nova` or `network:dhcp`; empty without an owner. */
  owner: ['device_owner', textIn],
  /** The ID of the device that uses it; empty if the port is free. */
  device: ['device_id', textIn],
  description: ['description', textIn],
  mac: ['mac_address', textIn],
  revision: ['revision_number', numberIn],
  addresses: [
    'fixed_ips',
    (item, key): readonly { readonly subnetId: string; readonly address: string }[] =>
      ownObjects(item, key).map((ip) => ({
        subnetId: textIn(ip, 'subnet_id'),
        address: textIn(ip, 'ip_address'),
      })),
  ],
});
export type NeutronPort = ReturnType<typeof NEUTRON_PORTS.decode>;

/** One of the operator's networks in Neutron, with its subnets and ports. */
export interface Found {
  readonly network: NeutronNetwork;
  readonly subnets: readonly NeutronSubnet[];
  readonly ports: readonly NeutronPort[];
}

/** Checks IDs, because they become parts of paths. */
function idIn(item: JsonObject, key: string): string {
  const value = ownString(item, key);
  if (value !== undefined && /^[\w-]{1,64}$/.test(value)) return value;
  throw unusable(`an ID as ${key}`, own(item, key));
}

/** Empty if the text is absent or null: Neutron's texts are optional. */
function textIn(item: JsonObject, key: string): string {
  const value = own(item, key) ?? '';
  if (typeof value === 'string') return value;
  throw unusable(`a string as ${key}`, value);
}

function numberIn(item: JsonObject, key: string): number | undefined {
  const value = own(item, key) ?? undefined;
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined;
  throw unusable(`a number as ${key}`, value);
}

function textsIn(item: JsonObject, key: string): readonly string[] {
  const value = own(item, key) ?? [];
  if (isArray(value) && value.every((text) => typeof text === 'string')) return value;
  throw unusable(`a list of strings as ${key}`, value);
}

function unusable(expected: string, got: unknown): UnusableAnswerError {
  return new UnusableAnswerError(`Neutron sent ${String(JSON.stringify(got)).slice(0, 80)}, not ${expected}`);
}

/** Matches resources with all of these values; several values of one key are alternatives. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;
