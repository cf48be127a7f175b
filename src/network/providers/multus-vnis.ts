import { createHash } from 'node:crypto';
import { keyOf, type ObjectKey } from '../../kube/object.ts';
import type { Lister } from '../../kube/store.ts';
import { FIRST_VNI, VNI_COUNT } from '../cni-config.ts';
import type { NetworkAttachmentDefinition } from '../resources.ts';
import { vniIn } from './multus-attachment.ts';

/**
 * Gives each joined Network a VXLAN identifier that no other has: that in its attachment, or the first free one from a
 * place on that its name decides. What the attachments say counts; what was given out a moment ago is remembered beside,
 * since the cache shows it a moment later.
 */
export class Vnis {
  readonly #attachments: Pick<Lister<NetworkAttachmentDefinition>, 'list'>;
  readonly #given = new Map<ObjectKey, number>();
  /** Objects of a cache never change. */
  readonly #read = new WeakMap<NetworkAttachmentDefinition, number | undefined>();

  constructor(attachments: Pick<Lister<NetworkAttachmentDefinition>, 'list'>) {
    this.#attachments = attachments;
  }

  /** `recorded` is what its attachment says, where there is one. Of two with the same, the first by name keeps it. */
  vniFor(key: ObjectKey, recorded: number | undefined): number {
    const others = this.#attachments.list().filter((attachment) => keyOf(attachment) !== key);
    const isFirst = !others.some((other) => this.#vniOf(other) === recorded && keyOf(other) < key);
    if (recorded !== undefined && isFirst) {
      this.#given.set(key, recorded);
      return recorded;
    }
    const given = [...this.#given].filter(([holder]) => holder !== key).map(([, vni]) => vni);
    const taken = new Set([...others.map((other) => this.#vniOf(other)), ...given]);
    const before = this.#given.get(key);
    const vni = before !== undefined && !taken.has(before) ? before : firstFree(key, taken);
    this.#given.set(key, vni);
    return vni;
  }

  /** The Network is gone. */
  release(key: ObjectKey): void {
    this.#given.delete(key);
  }

  #vniOf(attachment: NetworkAttachmentDefinition): number | undefined {
    if (!this.#read.has(attachment)) this.#read.set(attachment, vniIn(attachment));
    return this.#read.get(attachment);
  }
}

function firstFree(key: ObjectKey, taken: ReadonlySet<number | undefined>): number {
  let offset = createHash('sha256').update(key).digest().readUInt32BE() % VNI_COUNT;
  while (taken.has(FIRST_VNI + offset)) offset = (offset + 1) % VNI_COUNT;
  return FIRST_VNI + offset;
}
