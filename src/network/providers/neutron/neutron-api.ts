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
