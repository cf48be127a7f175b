import { type Action, differences, type Found, type NetworkChanges, type Wanted } from './neutron-api.ts';
import { descriptionOf, isOwnTag, MANAGED_TAG, RETAIN_TAG, uidTag } from './neutron-marker.ts';
import { namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronNetwork } from './neutron-resources.ts';
import { subnetActions } from './neutron-subnet-plan.ts';

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
