import { type GatewayRange, rangesOf, type Subnet } from '../../networks/api/subnet.ts';
import type { Identified, NeutronApi } from './client.ts';
import { descriptionOf, isOwnTag, MANAGED_TAG, type Owner, RETAIN_TAG, uidTag } from './marker.ts';
import { holds, namePorts, poolsAround, usersOf } from './ports.ts';
import {
  type Collection,
  type Found,
  NEUTRON_NETWORKS,
  NEUTRON_SUBNETS,
  type NeutronNetwork,
  type NeutronPort,
  type NeutronSubnet,
} from './resources.ts';

export interface Wanted {
  readonly owner: Owner;
  readonly shape: Subnet;
  readonly retain: boolean;
}

/** The fields to change. */
function differences(wanted: object, actual: object): object {
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => Reflect.get(actual, key) !== value),
  );
}

export type Action =
  /** Makes the call. Returns a created network. */
  | {
      readonly kind: 'createNetwork' | 'change';
      readonly call: (api: NeutronApi, signal: AbortSignal) => Promise<Found | undefined>;
    }
  /** No call: users must be gone first. */
  | { readonly kind: 'wait'; readonly message: string };

function change(call: (api: NeutronApi, signal: AbortSignal) => Promise<unknown>): Action {
  return { kind: 'change', call: (api, signal) => call(api, signal).then(() => undefined) };
}

function create(properties: object): Action {
  const made = async (api: NeutronApi, signal: AbortSignal): Promise<Found> => ({
    network: await api.create(NEUTRON_NETWORKS, properties, signal),
    ...{ subnets: [], ports: [] },
  });
  return { kind: 'createNetwork', call: made };
}

function update(of: Collection<Identified>, item: Identified, changes: object): Action {
  return change((api, signal) => api.update(of, item, changes, signal));
}

function tagged(verb: 'PUT' | 'DELETE', { id }: NeutronNetwork, tag: string): Action {
  return change((api, signal) => api.tag(verb, id, tag, signal));
}

export function deletionOf(item: NeutronNetwork): Action {
  return change((api, signal) => api.delete(NEUTRON_NETWORKS, item, signal));
}

/**
 * The ordered calls that change the found networks to the wanted state; empty if they match. The creation of a
 * network is the only action of its round, because the next round plans its subnet.
 */
export function actionsFor(found: readonly Found[], wanted: Wanted): readonly Action[] {
  const [kept, ...duplicates] = [...found].sort(precedes);
  if (!kept) return [create(propertiesOf(wanted))];
  const used = duplicates.flatMap(({ ports }) => usersOf(ports));
  if (used.length > 0) {
    const message = `Neutron has two networks for this Network, and ports use both: delete the ports on one of them: ${namePorts(used)}`;
    return [{ kind: 'wait', message }];
  }
  return [
    ...duplicates.map(({ network }) => deletionOf(network)),
    ...networkActions(kept.network, wanted),
    ...subnetActions(kept, wanted),
  ];
}

/**
 * The next calls that remove the operator's marks from a network; empty without marks. The description goes last,
 * because it finds the network again after a crash.
 */
export function disownmentOf({ network, subnets }: Found): readonly Action[] {
  const { description, tags } = network;
  const marked = description === '' ? [] : subnets.filter((subnet) => subnet.description === description);
  const unmarked = { description: '' };
  const marks = [
    ...marked.map((item) => update(NEUTRON_SUBNETS, item, unmarked)),
    ...tags.filter(isOwnTag).map((tag) => tagged('DELETE', network, tag)),
  ];
  return marks.length > 0 || description === '' ? marks : [update(NEUTRON_NETWORKS, network, unmarked)];
}

/** Chooses the network to keep among several of one Network. The choice is deterministic. */
export function keptOf(found: readonly Found[]): Found | undefined {
  return [...found].sort(precedes)[0];
}

/** Prefers a network in use, then the older one, then the one with the smaller ID. */
function precedes(a: Found, b: Found): number {
  const [inUseA, inUseB] = [a, b].map(({ ports }) => usersOf(ports).length > 0);
  if (inUseA !== inUseB) return inUseA ? -1 : 1;
  const [left, right] = [a, b].map(({ network }) => `${network.createdAt} ${network.id}`);
  return (left ?? '') < (right ?? '') ? -1 : 1;
}

function propertiesOf({ owner, shape }: Wanted): object {
  return {
    name: owner.key,
    description: descriptionOf(owner),
    ...(shape.mtu !== undefined && { mtu: shape.mtu }),
  };
}

function networkActions(network: NeutronNetwork, wanted: Wanted): readonly Action[] {
  const changes = differences(propertiesOf(wanted), network);
  const tags = [uidTag(wanted.owner.uid), MANAGED_TAG, ...(wanted.retain ? [RETAIN_TAG] : [])];
  const missing = tags.filter((tag) => !network.tags.includes(tag));
  const superfluous = wanted.retain ? [] : network.tags.filter((tag) => tag === RETAIN_TAG);
  return [
    // First, because it is tied to the revision that was read, and each change of tags is a new one.
    ...updatesTo(NEUTRON_NETWORKS, network, changes),
    ...missing.map((tag) => tagged('PUT', network, tag)),
    ...superfluous.map((tag) => tagged('DELETE', network, tag)),
  ];
}

function updatesTo(of: Collection<Identified>, item: Identified, changes: object): readonly Action[] {
  return Object.keys(changes).length === 0 ? [] : [update(of, item, changes)];
}

function subnetActions({ network, subnets, ports }: Found, wanted: Wanted): readonly Action[] {
  const { shape, owner } = wanted;
  const own = subnets.filter((subnet) => isOwnSubnet(subnet, network, shape, descriptionOf(owner)));
  const other = own.filter(({ cidr }) => !isWanted(cidr, shape));
  // The deletion goes first, because Neutron refuses overlapping ranges on one network.
  const deletions = other.map((item) => change((api, signal) => api.delete(NEUTRON_SUBNETS, item, signal)));
  const users = usersOf(ports).filter(({ addresses }) =>
    addresses.some(({ subnetId }) => other.some(({ id }) => id === subnetId)),
  );
  if (users.length > 0) {
    const kept = other.map(({ cidr }) => cidr).join(', ');
    const message = `${kept} ${other.length > 1 ? 'stay' : 'stays'} until these ports are gone: ${namePorts(users)}`;
    return [{ kind: 'wait', message }];
  }
  const changes = rangesOf(shape).flatMap((range): readonly Action[] => {
    const there = own.find(({ cidr }) => cidr === range.cidr);
    if (there) return subnetUpdate(there, ports, owner, range);
    const wantedSubnet = subnetFor(network, owner, range);
    return [change((api, signal) => api.create(NEUTRON_SUBNETS, wantedSubnet, signal))];
  });
  return [...deletions, ...changes];
}

function subnetFor(network: NeutronNetwork, owner: Owner, { cidr, gateway }: GatewayRange) {
  return {
    network_id: network.id,
    name: owner.key,
    description: descriptionOf(owner),
    ip_version: isSix(cidr) ? 6 : 4,
    cidr,
    gateway_ip: gateway,
    // Clients configure the addresses of their ports.
    enable_dhcp: false,
  };
}

function subnetUpdate(
  subnet: NeutronSubnet,
  ports: readonly NeutronPort[],
  owner: Owner,
  { cidr, gateway }: GatewayRange,
): readonly Action[] {
  const texts = differences({ name: owner.key, description: descriptionOf(owner) }, subnet);
  const isGatewayRight = subnet.gateway === gateway;
  const holder = isGatewayRight ? undefined : ports.find((port) => holds(port, subnet, gateway));
  // Neutron would accept a second holder of the address.
  if (holder) {
    const message = `a port has the gateway address ${gateway}: delete it: ${namePorts([holder])}`;
    return [{ kind: 'wait', message }];
  }
  // Both in one call: Neutron refuses a gateway inside a pool (GatewayConflictWithAllocationPools).
  const moved = isGatewayRight ? {} : { gateway_ip: gateway, allocation_pools: poolsAround(cidr, gateway) };
  return updatesTo(NEUTRON_SUBNETS, subnet, { ...texts, ...moved });
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
