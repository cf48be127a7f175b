import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import { UnusableAnswerError } from './openstack/error.ts';

/** The fields of a network in Neutron's API v2.0 that the operator reads. */
export interface NeutronNetwork {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly mtu: number | undefined;
  readonly tags: readonly string[];
  /** RFC 3339, whole seconds. */
  readonly createdAt: string;
  readonly revision: number | undefined;
  readonly subnetIds: readonly string[];
}

export interface AddressPool {
  readonly start: string;
  readonly end: string;
}

export interface NeutronSubnet {
  readonly id: string;
  readonly networkId: string;
  readonly name: string;
  readonly description: string;
  readonly cidr: string;
  readonly gateway: string | undefined;
  readonly pools: readonly AddressPool[];
  readonly revision: number | undefined;
}

export interface NeutronPort {
  readonly id: string;
  readonly networkId: string;
  readonly name: string;
  /** For example `compute:nova` or `network:dhcp`; empty without an owner. */
  readonly owner: string;
  /** The ID of the device that uses it; empty if the port is free. */
  readonly device: string;
  readonly description: string;
  readonly mac: string;
  readonly revision: number | undefined;
  readonly addresses: readonly { readonly subnetId: string; readonly address: string }[];
}

/** One kind of resource: its names in paths and bodies, and its decoder. */
export interface Collection<T> {
  readonly plural: string;
  readonly singular: string;
  readonly fields: readonly string[];
  readonly decode: (value: unknown) => T;
}

export const NEUTRON_NETWORKS: Collection<NeutronNetwork> = {
  plural: 'networks',
  singular: 'network',
  fields: ['id', 'name', 'description', 'mtu', 'tags', 'created_at', 'revision_number', 'subnets'],
  decode(value) {
    const item = record(value, 'network');
    return {
      id: idIn(item, 'id'),
      name: textIn(item, 'name'),
      description: textIn(item, 'description'),
      mtu: numberIn(item, 'mtu'),
      tags: textsIn(item, 'tags'),
      createdAt: textIn(item, 'created_at'),
      revision: numberIn(item, 'revision_number'),
      subnetIds: textsIn(item, 'subnets'),
    };
  },
};

export const NEUTRON_SUBNETS: Collection<NeutronSubnet> = {
  plural: 'subnets',
  singular: 'subnet',
  fields: [
    ...['id', 'network_id', 'name', 'description', 'cidr', 'gateway_ip', 'allocation_pools'],
    'revision_number',
  ],
  decode(value) {
    const item = record(value, 'subnet');
    const pools = ownObjects(item, 'allocation_pools');
    return {
      id: idIn(item, 'id'),
      networkId: idIn(item, 'network_id'),
      name: textIn(item, 'name'),
      description: textIn(item, 'description'),
      cidr: textIn(item, 'cidr'),
      gateway: ownString(item, 'gateway_ip'),
      pools: pools.map((pool) => ({ start: textIn(pool, 'start'), end: textIn(pool, 'end') })),
      revision: numberIn(item, 'revision_number'),
    };
  },
};

export const NEUTRON_PORTS: Collection<NeutronPort> = {
  plural: 'ports',
  singular: 'port',
  fields: [
    ...['id', 'network_id', 'name', 'device_owner', 'device_id', 'description', 'mac_address', 'fixed_ips'],
    'revision_number',
  ],
  decode(value) {
    const item = record(value, 'port');
    const addresses = ownObjects(item, 'fixed_ips');
    return {
      id: idIn(item, 'id'),
      networkId: idIn(item, 'network_id'),
      name: textIn(item, 'name'),
      owner: textIn(item, 'device_owner'),
      device: textIn(item, 'device_id'),
      description: textIn(item, 'description'),
      mac: textIn(item, 'mac_address'),
      revision: numberIn(item, 'revision_number'),
      addresses: addresses.map((ip) => ({
        subnetId: textIn(ip, 'subnet_id'),
        address: textIn(ip, 'ip_address'),
      })),
    };
  },
};

function record(value: unknown, kind: string): JsonObject {
  if (isObject(value as JsonValue)) return value as JsonObject;
  throw new UnusableAnswerError(`expected a ${kind}, got ${JSON.stringify(value)?.slice(0, 80)}`);
}

/** Checks IDs, because they become parts of paths. */
function idIn(item: JsonObject, key: string): string {
  const value = ownString(item, key);
  if (value !== undefined && /^[\w-]{1,64}$/.test(value)) return value;
  throw new UnusableAnswerError(
    `expected an ID as ${key}, got ${String(JSON.stringify(own(item, key))).slice(0, 80)}`,
  );
}

/** Empty if the text is absent or null: Neutron's texts are optional. */
function textIn(item: JsonObject, key: string): string {
  const value = own(item, key) ?? '';
  if (typeof value === 'string') return value;
  throw new UnusableAnswerError(`expected a text as ${key}, got ${typeof value}`);
}

function numberIn(item: JsonObject, key: string): number | undefined {
  const value = own(item, key) ?? undefined;
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined;
  throw new UnusableAnswerError(`expected a number as ${key}, got ${typeof value}`);
}

function textsIn(item: JsonObject, key: string): readonly string[] {
  const value = own(item, key) ?? [];
  if (isArray(value) && value.every((text) => typeof text === 'string')) return value;
  throw new UnusableAnswerError(
    `expected a list of texts as ${key}, got ${JSON.stringify(value).slice(0, 80)}`,
  );
}

/** Matches resources with all of these values; several values of one key are alternatives. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

export interface SubnetToCreate {
  readonly network_id: string;
  readonly name: string;
  readonly description: string;
  readonly ip_version: 4 | 6;
  readonly cidr: string;
  readonly gateway_ip: string;
}

export interface PortToCreate {
  readonly network_id: string;
  readonly name: string;
  readonly description: string;
  readonly device_id: string;
  readonly device_owner: string;
  readonly fixed_ips?: readonly { readonly ip_address: string }[];
  readonly mac_address?: string;
  readonly security_groups?: readonly string[];
}

export type PortChanges = Pick<PortToCreate, 'description' | 'device_id' | 'device_owner'>;

export interface NetworkChanges {
  readonly name?: string;
  readonly description?: string;
  readonly mtu?: number;
}

export interface SubnetChanges {
  readonly name?: string;
  readonly description?: string;
  readonly gateway_ip?: string;
  readonly allocation_pools?: readonly AddressPool[];
}
