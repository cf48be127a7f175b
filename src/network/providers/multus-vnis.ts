import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../kube/object.ts';
import type { Lister } from '../../kube/store.ts';
import { FIRST_VNI, VNI_COUNT } from '../cni-config.ts';
import type { NetworkAttachmentDefinition } from '../resources.ts';
import type { Network } from '../types.ts';
import { isMadeFor, vniIn } from './multus-attachment.ts';

/**
 * Gives each joined Network a VXLAN identifier that no other has: that in its status, or the first free one from a place
 * on that its name decides. What was given out a moment ago is remembered beside, since the cache shows it a moment later.
 * A definition counts only where it is its Network's, and only until the status tells: an earlier release did not write it.
 */
export class Vnis {
  readonly #networks: Pick<Lister<Network>, 'list'>;
  readonly #attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>;
  readonly #given = new Map<ObjectKey, number>();

  constructor(
    networks: Pick<Lister<Network>, 'list'>,
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
    const others = this.#networks.list().filter((other) => keyOf(other) !== key);
    const known = others.map((other) => ({ other, vni: this.#vniOf(other) }));
    const isFirst = !known.some(({ other, vni }) => vni === recorded && precedes(other, network));
    if (recorded !== undefined && isFirst) {
      this.#given.set(key, recorded);
      return recorded;
    }
    const given = [...this.#given].filter(([holder]) => holder !== key).map(([, vni]) => vni);
    const taken = new Set([...known.map(({ vni }) => vni), ...given]);
    const before = this.#given.get(key);
    const vni = before !== undefined && !taken.has(before) ? before : firstFree(key, taken);
    this.#given.set(key, vni);
    return vni;
  }

  /** The Network is gone. */
  release(key: ObjectKey): void {
    this.#given.delete(key);
  }

  #vniOf(network: Network): number | undefined {
    const { vni, cidr } = network.status ?? {};
    if (vni !== undefined || cidr === undefined) return vni;
    const attachment = this.#attachments.get(keyOf(network));
    return attachment && isMadeFor(attachment, network) ? vniIn(attachment) : undefined;
  }
}

function precedes(a: Network, b: Network): boolean {
  const [isSure, isOtherSure] = [a, b].map(({ status }) => status?.vni !== undefined);
  return isSure === isOtherSure ? keyOf(a) < keyOf(b) : isSure === true;
}

function firstFree(key: ObjectKey, taken: ReadonlySet<number | undefined>): number {
  let offset = createHash('sha256').update(key).digest().readUInt32BE() % VNI_COUNT;
  while (taken.has(FIRST_VNI + offset)) offset = (offset + 1) % VNI_COUNT;
  return FIRST_VNI + offset;
}
