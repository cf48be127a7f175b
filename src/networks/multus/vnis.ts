import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { MultiMap } from '../../kube/util/multi-map.ts';
import type { NetworkAttachmentDefinition } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { isMadeFor } from './attachment.ts';
import { FIRST_VNI, VNI_COUNT, vniIn } from './cni-config.ts';

const UNRECORDED = 'unrecorded';

/** For the cache of Networks: `vni` finds those with this VNI in their status, and real ones without any. */
export const VNI_INDEXERS = {
  vni: ({ status }: Network): readonly string[] => {
    if (status?.vni !== undefined) return [`${status.vni}`];
    return status?.cidr === undefined ? [] : [UNRECORDED];
  },
};

/**
 * Gives each Network a unique VXLAN identifier: the one in its status, or the next free one after a hash of
 * its key. It remembers what it gave until the cache shows it. For Networks of earlier releases without one in the
 * status, the identifier in their own definition counts.
 */
export class Vnis {
  readonly #networks: Pick<Lister<Network>, 'byIndex'>;
  readonly #attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>;
  readonly #given = new Map<ObjectKey, number>();
  /** Networks by identifier. */
  readonly #holders = new MultiMap<number, ObjectKey>();

  /** `networks` has the indexers VNI_INDEXERS. */
  constructor(
    networks: Pick<Lister<Network>, 'byIndex'>,
    attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>,
  ) {
    this.#networks = networks;
    this.#attachments = attachments;
  }

  /**
   * `recorded` is the known identifier of the Network. If two Networks have the same one, the one with it in the
   * status keeps it, then the first by key.
   */
  vniFor(network: Network, recorded: number | undefined): number {
    const key = keyOf(network);
    const unrecorded = this.#unrecorded();
    const othersWith = (vni: number) =>
      [...this.#networks.byIndex('vni', `${vni}`), ...(unrecorded.get(vni) ?? [])].filter(
        (other) => keyOf(other) !== key,
      );
    if (recorded !== undefined && !othersWith(recorded).some((other) => precedes(other, network))) {
      return this.#give(key, recorded);
    }
    const isTaken = (vni: number) =>
      othersWith(vni).length > 0 || [...this.#holders.get(vni)].some((holder) => holder !== key);
    const before = this.#given.get(key);
    return this.#give(key, before !== undefined && !isTaken(before) ? before : firstFree(key, isTaken));
  }

  /** Frees the identifier of a deleted Network. */
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

  /** Networks of earlier releases, by the identifier in their definition. */
  #unrecorded(): ReadonlyMap<number, readonly Network[]> {
    const found = new Map<number, Network[]>();
    for (const network of this.#networks.byIndex('vni', UNRECORDED)) {
      const attachment = this.#attachments.get(keyOf(network));
      const vni = attachment && isMadeFor(attachment, network) ? vniIn(attachment.spec?.config) : undefined;
      if (vni === undefined) continue;
      const others = found.get(vni);
      if (others) others.push(network);
      else found.set(vni, [network]);
    }
    return found;
  }
}

function precedes(a: Network, b: Network): boolean {
  const [isSure, isOtherSure] = [a, b].map(({ status }) => status?.vni !== undefined);
  return isSure === isOtherSure ? keyOf(a) < keyOf(b) : isSure === true;
}

function firstFree(key: ObjectKey, isTaken: (vni: number) => boolean): number {
  let offset = createHash('sha256').update(key).digest().readUInt32BE() % VNI_COUNT;
  while (isTaken(FIRST_VNI + offset)) offset = (offset + 1) % VNI_COUNT;
  return FIRST_VNI + offset;
}
