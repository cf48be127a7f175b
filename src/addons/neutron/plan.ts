import { type GatewayRange, rangesOf, type Subnet } from '../../networks/api/subnet.ts';
import type { Range } from '../../networks/ipam/cidr.ts';
import type { NeutronApi } from './client.ts';
import { descriptionOf, isOwnTag, MANAGED_TAG, type Owner, RETAIN_TAG, uidTag } from './marker.ts';
import { holds, namePorts, poolsAround, usersOf } from './ports.ts';
import type {
  NetworkChanges,
  NeutronNetwork,
  NeutronPort,
  NeutronSubnet,
  SubnetChanges,
  SubnetToCreate,
} from './resources.ts';

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

/**
 * The ordered calls that change the found networks to the wanted state; empty if they match. The creation of a
 * network is the only action of its round, because the next round plans its subnet.
 */
export function actionsFor(found: readonly Found[], wanted: Wanted): readonly Action[] {
  const [kept, ...duplicates] = [...found].sort(precedes);
  if (!kept) return [{ kind: 'createNetwork', create: propertiesOf(wanted) }];
  const used = duplicates.flatMap(({ ports }) => usersOf(ports));
  if (used.length > 0) {
    const message = `Neutron has two networks for this Network, and ports use both: delete the ports of one: ${namePorts(used)}`;
    return [{ kind: 'wait', message }];
  }
  return [
    ...duplicates.map(({ network }): Action => ({ kind: 'deleteNetwork', network })),
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
  const marks: readonly Action[] = [
    ...marked.map((subnet) => ({ kind: 'updateSubnet', subnet, changes: { description: '' } }) as const),
    ...tags.filter(isOwnTag).map((tag) => ({ kind: 'removeTag', network, tag }) as const),
  ];
  if (marks.length > 0 || description === '') return marks;
  return [{ kind: 'updateNetwork', network, changes: { description: '' } }];
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

function propertiesOf({ owner, shape }: Wanted): NetworkChanges & { readonly description: string } {
  return {
    name: owner.key,
    description: descriptionOf(owner),
    ...(shape.mtu !== undefined && { mtu: shape.mtu }),
  };
}

function networkActions(network: NeutronNetwork, wanted: Wanted): readonly Action[] {
  const changes = differences<NetworkChanges>(propertiesOf(wanted), network);
  const tags = [uidTag(wanted.owner.uid), MANAGED_TAG, ...(wanted.retain ? [RETAIN_TAG] : [])];
  const missing = tags.filter((tag) => !network.tags.includes(tag));
  const superfluous = wanted.retain ? [] : network.tags.filter((tag) => tag === RETAIN_TAG);
  return [
    // First, because it is tied to the revision that was read, and each change of tags is a new one.
    ...(changes ? [{ kind: 'updateNetwork', network, changes } as const] : []),
    ...missing.map((tag): Action => ({ kind: 'addTag', network, tag })),
    ...superfluous.map((tag): Action => ({ kind: 'removeTag', network, tag })),
  ];
}

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
