import { type Action, differences, type Found, type NetworkChanges, type Wanted } from './neutron-api.ts';
import { descriptionOf, isOwnTag, MANAGED_TAG, RETAIN_TAG, uidTag } from './neutron-marker.ts';
import { namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronNetwork } from './neutron-resources.ts';
import { subnetActions } from './neutron-subnet-plan.ts';

/**
 * What is to be called, in this order, to come from what was found to what is wanted; empty where it is as wanted. A
 * network that is to be created is an action by itself: what belongs on it is found out once it is there.
 */
export function actionsFor(found: readonly Found[], wanted: Wanted): readonly Action[] {
  const [kept, ...duplicates] = [...found].sort(precedes);
  if (!kept) return [{ kind: 'createNetwork', create: propertiesOf(wanted) }];
  const used = duplicates.flatMap(({ ports }) => usersOf(ports));
  if (used.length > 0) {
    const message = `Neutron has two networks of this Network, and both are used: delete the ports of one: ${namePorts(used)}`;
    return [{ kind: 'wait', message }];
  }
  return [
    ...duplicates.map(({ network }): Action => ({ kind: 'deleteNetwork', network })),
    ...networkActions(kept.network, wanted),
    ...subnetActions(kept, wanted),
  ];
}

/**
 * The calls that come next to make a network nobody's: it stays as it is, without a mark of ours. By its description it
 * is found again after a crash, so that goes last. Empty once it is done.
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

/** Of several networks of one Network the one that stays: whoever looks, whenever, chooses the same. */
export function keptOf(found: readonly Found[]): Found | undefined {
  return [...found].sort(precedes)[0];
}

/** One that is in use stays before one that is not, then the older, then the one with the smaller ID. */
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
    // First: a change of tags is a new revision, and this is tied to the one that was read.
    ...(changes ? [{ kind: 'updateNetwork', network, changes } as const] : []),
    ...missing.map((tag): Action => ({ kind: 'addTag', network, tag })),
    ...superfluous.map((tag): Action => ({ kind: 'removeTag', network, tag })),
  ];
}
