import { type GatewayRange, rangesOf, type Subnet } from '../../networks/api/subnet.ts';
import {
  type Action,
  differences,
  type Found,
  type SubnetChanges,
  type SubnetToCreate,
  type Wanted,
  type WantedRange,
} from './neutron-api.ts';
import { descriptionOf, type Owner } from './neutron-marker.ts';
import { poolsAround } from './neutron-pools.ts';
import { holds, namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

/** The calls that change the subnets of the network to the wanted state. */
export function subnetActions({ network, subnets, ports }: Found, wanted: Wanted): readonly Action[] {
  const { shape, owner, ranges } = wanted;
  const own = subnets.filter((subnet) => isOwnSubnet(subnet, network, shape, descriptionOf(owner)));
  const other = own.filter(({ cidr }) => !ranges.some((range) => range.cidr === cidr));
  // The deletion goes first, because Neutron refuses overlapping ranges on one network.
  const deletions = other.map((subnet): Action => ({ kind: 'deleteSubnet', subnet }));
  const users = usersOf(ports).filter(({ addresses }) =>
    addresses.some(({ subnetId }) => other.some(({ id }) => id === subnetId)),
  );
  if (users.length > 0) {
    const kept = other.map(({ cidr }) => cidr).join(', ');
    const message = `keeps ${kept} until these ports are gone: ${namePorts(users)}`;
    return [{ kind: 'wait', message }];
  }
  const changes = ranges.flatMap((range): readonly Action[] => {
    const there = own.find(({ cidr }) => cidr === range.cidr);
    if (there) return subnetUpdate(there, ports, owner, range);
    return [{ kind: 'createSubnet', create: subnetFor(network, owner, range) }];
  });
  return [...deletions, ...changes];
}

function subnetFor(
  network: NeutronNetwork,
  owner: Owner,
  { cidr, gateway, range }: WantedRange,
): SubnetToCreate {
  return {
    network_id: network.id,
    name: owner.key,
    description: descriptionOf(owner),
    ip_version: range.address.kind() === 'ipv4' ? 4 : 6,
    cidr,
    gateway_ip: gateway,
  };
}

function subnetUpdate(
  subnet: NeutronSubnet,
  ports: readonly NeutronPort[],
  owner: Owner,
  { gateway, range }: WantedRange,
): readonly Action[] {
  const texts = differences<SubnetChanges>({ name: owner.key, description: descriptionOf(owner) }, subnet);
  const isGatewayRight = subnet.gateway === gateway;
  const holder = isGatewayRight ? undefined : ports.find((port) => holds(port, subnet, gateway));
  // Neutron would accept a second holder of the address.
  if (holder) {
    const message = `a port has the address of gateway ${gateway}: delete it first: ${namePorts([holder])}`;
    return [{ kind: 'wait', message }];
  }
  // Both in one call: Neutron refuses a gateway inside a pool (GatewayConflictWithAllocationPools).
  const moved = isGatewayRight ? {} : { gateway_ip: gateway, allocation_pools: poolsAround(range, gateway) };
  const changes = { ...texts, ...moved };
  return Object.keys(changes).length === 0 ? [] : [{ kind: 'updateSubnet', subnet, changes }];
}

/** Whether the operator owns the subnet: by its mark or, if a user overwrote that, by a wanted range. */
function isOwnSubnet(
  { description, cidr }: NeutronSubnet,
  network: NeutronNetwork,
  wanted: Subnet,
  mark = network.description,
): boolean {
  return isWanted(cidr, wanted) || (mark !== '' && description === mark);
}

/** The subnets of the real network; undefined if the operator owns none. */
export function shapeOfFound({ network, subnets }: Found, wanted: Subnet): Subnet | undefined {
  const own = subnets.filter((subnet) => isOwnSubnet(subnet, network, wanted));
  const isFirst = ({ cidr }: NeutronSubnet) => isSix(cidr) === isSix(wanted.cidr);
  const [first, secondary] = [own.filter(isFirst), own.filter((subnet) => !isFirst(subnet))].flatMap(
    (family) => rangeOf(family.find(({ cidr }) => isWanted(cidr, wanted)) ?? family[0]) ?? [],
  );
  if (!first) return undefined;
  // Neutron always reports an MTU. It counts only if the spec sets one.
  const mtu = wanted.mtu === undefined ? undefined : network.mtu;
  return { ...first, ...(secondary && { secondary }), ...(mtu !== undefined && { mtu }) };
}

function rangeOf(subnet: NeutronSubnet | undefined): GatewayRange | undefined {
  return subnet?.gateway === undefined ? undefined : { cidr: subnet.cidr, gateway: subnet.gateway };
}

function isWanted(cidr: string, wanted: Subnet): boolean {
  return rangesOf(wanted).some((range) => range.cidr === cidr);
}

function isSix(cidr: string): boolean {
  return cidr.includes(':');
}
