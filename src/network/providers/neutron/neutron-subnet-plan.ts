import type { Subnet } from '../../api/subnet.ts';
import {
  type Action,
  differences,
  type Found,
  type SubnetChanges,
  type SubnetToCreate,
  type Wanted,
} from './neutron-api.ts';
import { descriptionOf } from './neutron-marker.ts';
import { poolsAround } from './neutron-pools.ts';
import { holds, namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronNetwork, NeutronPort, NeutronSubnet } from './neutron-resources.ts';

/** The calls that change the subnet of the network to the wanted state. */
export function subnetActions({ network, subnets, ports }: Found, wanted: Wanted): readonly Action[] {
  const { shape, owner } = wanted;
  const own = subnets.filter((subnet) => isOwnSubnet(subnet, network, shape, descriptionOf(owner)));
  const other = own.filter(({ cidr }) => cidr !== shape.cidr);
  const there = own.find(({ cidr }) => cidr === shape.cidr);
  // The deletion goes first, because Neutron refuses overlapping ranges on one network.
  const deletions = other.map((subnet): Action => ({ kind: 'deleteSubnet', subnet }));
  const users = usersOf(ports).filter(({ addresses }) =>
    addresses.some(({ subnetId }) => other.some(({ id }) => id === subnetId)),
  );
  if (users.length > 0) {
    const ranges = other.map(({ cidr }) => cidr).join(', ');
    const message = `keeps ${ranges} until these ports are gone: ${namePorts(users)}`;
    return [{ kind: 'wait', message }];
  }
  if (!there) return [...deletions, { kind: 'createSubnet', create: subnetFor(network, wanted) }];
  return [...deletions, ...subnetUpdate(there, ports, wanted)];
}

function subnetFor(network: NeutronNetwork, { owner, shape, range }: Wanted): SubnetToCreate {
  return {
    network_id: network.id,
    name: owner.key,
    description: descriptionOf(owner),
    ip_version: range.address.kind() === 'ipv4' ? 4 : 6,
    cidr: shape.cidr,
    gateway_ip: shape.gateway,
  };
}

function subnetUpdate(
  subnet: NeutronSubnet,
  ports: readonly NeutronPort[],
  { owner, shape, range }: Wanted,
): readonly Action[] {
  const texts = differences<SubnetChanges>({ name: owner.key, description: descriptionOf(owner) }, subnet);
  const isGatewayRight = subnet.gateway === shape.gateway;
  const holder = isGatewayRight ? undefined : ports.find((port) => holds(port, subnet, shape.gateway));
  // Neutron would accept a second holder of the address.
  if (holder) {
    const message = `a port has the address of gateway ${shape.gateway}: delete it first: ${namePorts([holder])}`;
    return [{ kind: 'wait', message }];
  }
  // Both in one call: Neutron refuses a gateway inside a pool (GatewayConflictWithAllocationPools).
  const gateway = isGatewayRight
    ? {}
    : { gateway_ip: shape.gateway, allocation_pools: poolsAround(range, shape.gateway) };
  const changes = { ...texts, ...gateway };
  return Object.keys(changes).length === 0 ? [] : [{ kind: 'updateSubnet', subnet, changes }];
}

/** Whether the operator owns the subnet: by its mark or, if a user overwrote that, by the wanted range. */
function isOwnSubnet(
  { description, cidr }: NeutronSubnet,
  network: NeutronNetwork,
  { cidr: wanted }: Subnet,
  mark = network.description,
): boolean {
  return cidr === wanted || (mark !== '' && description === mark);
}

/** The subnet of the real network; undefined if the operator owns no subnet of it. */
export function shapeOfFound({ network, subnets }: Found, wanted: Subnet): Subnet | undefined {
  const own = subnets.filter((subnet) => isOwnSubnet(subnet, network, wanted));
  const subnet = own.find(({ cidr }) => cidr === wanted.cidr) ?? own[0];
  if (subnet?.gateway === undefined) return undefined;
  const { cidr, gateway } = subnet;
  // Neutron always reports an MTU. It counts only if the spec sets one.
  const mtu = wanted.mtu === undefined ? undefined : network.mtu;
  return { cidr, gateway, ...(mtu !== undefined && { mtu }) };
}
