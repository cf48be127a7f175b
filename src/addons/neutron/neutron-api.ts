import type { GatewayRange, Subnet } from '../../networks/api/subnet.ts';
import type { Range } from '../../networks/ipam/cidr.ts';
import type { Owner } from './neutron-marker.ts';
import type { AddressPool, NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

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

/** The calls of the provider to Neutron. */
export interface NeutronApi {
  networks(filter: Filter, signal: AbortSignal): Promise<readonly NeutronNetwork[]>;
  subnets(filter: Filter, signal: AbortSignal): Promise<readonly NeutronSubnet[]>;
  ports(filter: Filter, signal: AbortSignal): Promise<readonly NeutronPort[]>;
  createNetwork(
    network: NetworkChanges & { readonly description: string },
    signal: AbortSignal,
  ): Promise<NeutronNetwork>;
  createSubnet(subnet: SubnetToCreate, signal: AbortSignal): Promise<NeutronSubnet>;
  createPort(port: PortToCreate, signal: AbortSignal): Promise<NeutronPort>;
  /** The writes below fail with 412 if the resource changed since it was read. */
  updateNetwork(network: NeutronNetwork, changes: NetworkChanges, signal: AbortSignal): Promise<void>;
  updateSubnet(subnet: NeutronSubnet, changes: SubnetChanges, signal: AbortSignal): Promise<void>;
  updatePort(port: NeutronPort, changes: PortChanges, signal: AbortSignal): Promise<void>;
  /** Ignores a 404. */
  deletePort(id: string, signal: AbortSignal): Promise<void>;
  /** Deletes the network and its subnets. Fails with 409 while it has ports; ignores a 404. */
  deleteNetwork(network: NeutronNetwork, signal: AbortSignal): Promise<void>;
  deleteSubnet(subnet: NeutronSubnet, signal: AbortSignal): Promise<void>;
  addTag(networkId: string, tag: string, signal: AbortSignal): Promise<void>;
  removeTag(networkId: string, tag: string, signal: AbortSignal): Promise<void>;
}

/** One of the operator's networks in Neutron, with its subnets and ports. */
export interface Found {
  readonly network: NeutronNetwork;
  readonly subnets: readonly NeutronSubnet[];
  readonly ports: readonly NeutronPort[];
}

/** The desired state. */
export interface Wanted {
  readonly owner: Owner;
  readonly shape: Subnet;
  /** The ranges of the shape: one, or one for each family. */
  readonly ranges: readonly WantedRange[];
  readonly retain: boolean;
}

export interface WantedRange extends GatewayRange {
  /** The parsed `cidr`. */
  readonly range: Range;
}

/** The fields to change; undefined without differences. */
export function differences<C extends object>(wanted: C, actual: object): Partial<C> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => Reflect.get(actual, key) !== value);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<C>);
}

/** One call to Neutron. */
export type Action =
  | { readonly kind: 'createNetwork'; readonly create: NetworkChanges & { readonly description: string } }
  | { readonly kind: 'updateNetwork'; readonly network: NeutronNetwork; readonly changes: NetworkChanges }
  | { readonly kind: 'deleteNetwork'; readonly network: NeutronNetwork }
  | { readonly kind: 'addTag' | 'removeTag'; readonly network: NeutronNetwork; readonly tag: string }
  | { readonly kind: 'createSubnet'; readonly create: SubnetToCreate }
  | { readonly kind: 'updateSubnet'; readonly subnet: NeutronSubnet; readonly changes: SubnetChanges }
  | { readonly kind: 'deleteSubnet'; readonly subnet: NeutronSubnet }
  /** No call: users must be gone first. */
  | { readonly kind: 'wait'; readonly message: string };

/** Makes the call. Returns a created network. */
export async function perform(
  api: NeutronApi,
  action: Action,
  signal: AbortSignal,
): Promise<Found | undefined> {
  switch (action.kind) {
    case 'createNetwork':
      return { network: await api.createNetwork(action.create, signal), subnets: [], ports: [] };
    case 'updateNetwork':
      return void (await api.updateNetwork(action.network, action.changes, signal));
    case 'deleteNetwork':
      return void (await api.deleteNetwork(action.network, signal));
    case 'addTag':
      return void (await api.addTag(action.network.id, action.tag, signal));
    case 'removeTag':
      return void (await api.removeTag(action.network.id, action.tag, signal));
    case 'createSubnet':
      return void (await api.createSubnet(action.create, signal));
    case 'updateSubnet':
      return void (await api.updateSubnet(action.subnet, action.changes, signal));
    case 'deleteSubnet':
      return void (await api.deleteSubnet(action.subnet, signal));
    case 'wait':
      return undefined;
  }
}
