import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Network } from '../api/types.ts';
import { bridgeName, FIRST_VNI, VNI_COUNT } from './cni-config.ts';

/** For the cache of Networks: `vni` finds those with this VNI in their status, `bridge` those whose bridge has this name. */
export const MULTUS_INDEXERS = {
  bridge: (network: Network): readonly string[] => [bridgeName(keyOf(network))],
  vni: ({ status }: Network): readonly string[] => (status?.vni === undefined ? [] : [`${status.vni}`]),
};

/**
 * Gives each Network a unique VXLAN identifier: the one in its status, or the next free one after a hash of its key. It
 * remembers what it gave until the cache shows it.
 */
export class Vnis {
  readonly #networks: Pick<Lister<Network>, 'byIndex'>;
  readonly #given = new Map<number, ObjectKey>();

  /** `networks` has the indexers MULTUS_INDEXERS. */
  constructor(networks: Pick<Lister<Network>, 'byIndex'>) {
    this.#networks = networks;
  }

  /** If two Networks have the same identifier in their status, the first by key keeps it. */
  vniFor(network: Network): number {
    const key = keyOf(network);
    const recorded = network.status?.vni;
    const othersWith = (vni: number) =>
      this.#networks
        .byIndex('vni', `${vni}`)
        .map(keyOf)
        .filter((other) => other !== key);
    const isTaken = (vni: number) => othersWith(vni).length > 0 || (this.#given.get(vni) ?? key) !== key;
    const isKept = recorded !== undefined && othersWith(recorded).every((other) => key < other);
    const vni = isKept ? recorded : firstFree(key, isTaken);
    this.#given.set(vni, key);
    return vni;
  }

  release(key: ObjectKey): void {
    for (const [vni, holder] of this.#given) if (holder === key) this.#given.delete(vni);
  }
}

function firstFree(key: ObjectKey, isTaken: (vni: number) => boolean): number {
  let offset = createHash('sha256').update(key).digest().readUInt32BE() % VNI_COUNT;
  while (isTaken(FIRST_VNI + offset)) offset = (offset + 1) % VNI_COUNT;
  return FIRST_VNI + offset;
}
