import type { Subnet } from '../../api/subnet.ts';
import type { Range } from '../../ipam/cidr.ts';
import type { Owner } from './neutron-marker.ts';
import type { NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

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
