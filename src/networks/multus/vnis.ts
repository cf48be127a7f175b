import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { MultiMap } from '../../kube/util/multi-map.ts';
import type { Network } from '../api/types.ts';
import { FIRST_VNI, VNI_COUNT } from './cni-config.ts';

/** For the cache of Networks: `vni` finds those with this VNI in their status. */
export const VNI_INDEXERS = {
  vni: ({ status }: Network): readonly string[] => (status?.vni === undefined ? [] : [`${status.vni}`]),
};

/**
 * Gives each Network a unique VXLAN identifier: the one in its status, or the next free one after a hash of its key. It
 * remembers what it gave until the cache shows it.
 */
export class Vnis {
  readonly #networks: Pick<Lister<Network>, 'byIndex'>;
  readonly #given = new Map<ObjectKey, number>();
  readonly #holders = new MultiMap<number, ObjectKey>();

  /** `networks` has the indexers VNI_INDEXERS. */
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
    if (recorded !== undefined && othersWith(recorded).every((other) => key < other)) {
      return this.#give(key, recorded);
    }
    const isTaken = (vni: number) =>
      othersWith(vni).length > 0 || [...this.#holders.get(vni)].some((holder) => holder !== key);
    const before = this.#given.get(key);
    return this.#give(key, before !== undefined && !isTaken(before) ? before : firstFree(key, isTaken));
  }

  release(key: ObjectKey): void {
    const given = this.#given.get(key);
    if (given === undefined) return;
    this.#given.delete(key);
    this.#holders.delete(given, key);
  }

  #give(key: ObjectKey, vni: number): number {
    this.release(key);
    this.#given.set(key, vni);
    this.#holders.add(vni, key);
    return vni;
  }
}

function firstFree(key: ObjectKey, isTaken: (vni: number) => boolean): number {
  let offset = createHash('sha256').update(key).digest().readUInt32BE() % VNI_COUNT;
  while (isTaken(FIRST_VNI + offset)) offset = (offset + 1) % VNI_COUNT;
  return FIRST_VNI + offset;
}
