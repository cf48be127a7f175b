import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { NetworkAttachmentDefinition } from '../../api/resources.ts';
import type { Network } from '../../api/types.ts';
import { FIRST_VNI, VNI_COUNT } from './cni-config.ts';
import { isMadeFor, vniIn } from './multus-attachment.ts';

const UNTOLD = 'untold';

/** For the cache of Networks: `vni` finds those whose status tells this one, and those that are real and tell none. */
export const VNI_INDEXERS = {
  vni: ({ status }: Network): readonly string[] => {
    if (status?.vni !== undefined) return [`${status.vni}`];
    return status?.cidr === undefined ? [] : [UNTOLD];
  },
};

/**
 * Gives each joined Network a VXLAN identifier that no other has: that in its status, or the first free one from a place
 * on that its name decides. What was given out a moment ago is remembered beside, since the cache shows it a moment later.
 * A definition counts only where it is its Network's, and only until the status tells: an earlier release did not write it.
 */
export class Vnis {
  readonly #networks: Pick<Lister<Network>, 'byIndex'>;
  readonly #attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>;
  readonly #given = new Map<ObjectKey, number>();
  /** The inverse. */
  readonly #holders = new Map<number, Set<ObjectKey>>();

  /** `networks` has the indices VNI_INDEXERS. */
  constructor(
    networks: Pick<Lister<Network>, 'byIndex'>,
    attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>,
  ) {
    this.#networks = networks;
    this.#attachments = attachments;
  }

  /**
   * `recorded` is what the Network is known to have. Of two with the same, the one whose status tells it keeps it, then
   * the first by name.
   */
  vniFor(network: Network, recorded: number | undefined): number {
    const key = keyOf(network);
    const untold = this.#untold();
    const othersWith = (vni: number) =>
      [...this.#networks.byIndex('vni', `${vni}`), ...(untold.get(vni) ?? [])].filter(
        (other) => keyOf(other) !== key,
      );
    if (recorded !== undefined && !othersWith(recorded).some((other) => precedes(other, network))) {
      return this.#give(key, recorded);
    }
    const isTaken = (vni: number) =>
      othersWith(vni).length > 0 || [...(this.#holders.get(vni) ?? [])].some((holder) => holder !== key);
    const before = this.#given.get(key);
    return this.#give(key, before !== undefined && !isTaken(before) ? before : firstFree(key, isTaken));
  }

  /** The Network is gone. */
  release(key: ObjectKey): void {
    const given = this.#given.get(key);
    if (given === undefined) return;
    this.#given.delete(key);
    const holders = this.#holders.get(given);
    holders?.delete(key);
    if (holders?.size === 0) this.#holders.delete(given);
  }

  #give(key: ObjectKey, vni: number): number {
    this.release(key);
    this.#given.set(key, vni);
    this.#holders.set(vni, (this.#holders.get(vni) ?? new Set()).add(key));
    return vni;
  }

  /** Networks of an earlier release, which their definitions tell of. */
  #untold(): ReadonlyMap<number, readonly Network[]> {
    const found = new Map<number, Network[]>();
    for (const network of this.#networks.byIndex('vni', UNTOLD)) {
      const attachment = this.#attachments.get(keyOf(network));
      const vni = attachment && isMadeFor(attachment, network) ? vniIn(attachment) : undefined;
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
