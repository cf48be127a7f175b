import type { Subnet } from '../../api/subnet.ts';
import type { Range } from '../../ipam/cidr.ts';
import type { Owner } from './neutron-marker.ts';
import type { AddressPool, NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

/** Equal to all of these; several values of one are alternatives. */
export type Filter = Readonly<Record<string, string | readonly string[]>>;

export interface SubnetToCreate {
  readonly network_id: string;
  readonly name: string;
  readonly description: string;
  readonly ip_version: 4 | 6;
  readonly cidr: string;
  readonly gateway_ip: string;
}

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

/** What the provider asks of Neutron. */
export interface NeutronApi {
  networks(filter: Filter, signal: AbortSignal): Promise<readonly NeutronNetwork[]>;
  subnets(filter: Filter, signal: AbortSignal): Promise<readonly NeutronSubnet[]>;
  ports(filter: Filter, signal: AbortSignal): Promise<readonly NeutronPort[]>;
  createNetwork(
    network: NetworkChanges & { readonly description: string },
    signal: AbortSignal,
  ): Promise<NeutronNetwork>;
  createSubnet(subnet: SubnetToCreate, signal: AbortSignal): Promise<NeutronSubnet>;
  /** The writes below fail with 412 where the resource has changed since it was read. */
  updateNetwork(network: NeutronNetwork, changes: NetworkChanges, signal: AbortSignal): Promise<void>;
  updateSubnet(subnet: NeutronSubnet, changes: SubnetChanges, signal: AbortSignal): Promise<void>;
  /** With its subnets. 409 while ports are on it; no error where it is gone. */
  deleteNetwork(network: NeutronNetwork, signal: AbortSignal): Promise<void>;
  deleteSubnet(subnet: NeutronSubnet, signal: AbortSignal): Promise<void>;
  addTag(networkId: string, tag: string, signal: AbortSignal): Promise<void>;
  removeTag(networkId: string, tag: string, signal: AbortSignal): Promise<void>;
}

/** A network of ours in Neutron with what is on it. */
export interface Found {
  readonly network: NeutronNetwork;
  readonly subnets: readonly NeutronSubnet[];
  readonly ports: readonly NeutronPort[];
}

/** What there should be. */
export interface Wanted {
  readonly owner: Owner;
  readonly shape: Subnet;
  /** The shape's. */
  readonly range: Range;
  readonly retain: boolean;
}

/** What is to be changed; undefined for nothing. */
export function differences<C extends object>(wanted: C, actual: object): Partial<C> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => Reflect.get(actual, key) !== value);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<C>);
}

/** One call. */
export type Action =
  | { readonly kind: 'createNetwork'; readonly create: NetworkChanges & { readonly description: string } }
  | { readonly kind: 'updateNetwork'; readonly network: NeutronNetwork; readonly changes: NetworkChanges }
  | { readonly kind: 'deleteNetwork'; readonly network: NeutronNetwork }
  | { readonly kind: 'addTag' | 'removeTag'; readonly network: NeutronNetwork; readonly tag: string }
  | { readonly kind: 'createSubnet'; readonly create: SubnetToCreate }
  | { readonly kind: 'updateSubnet'; readonly subnet: NeutronSubnet; readonly changes: SubnetChanges }
  | { readonly kind: 'deleteSubnet'; readonly subnet: NeutronSubnet }
  /** Nothing to be called: users must go first. */
  | { readonly kind: 'wait'; readonly message: string };

/** Does the call. Returns the network that it made, if it was to make one. */
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
