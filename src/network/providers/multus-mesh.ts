import type { ObjectKey } from '../../kube/object.ts';
import type { Lister } from '../../kube/store.ts';
import { parseRange, podCapacity } from '../cidr.ts';
import type { Reach } from '../cluster-nodes.ts';
import { joinedNetworkOf, SMALLEST_MESH_MTU } from '../cni-config.ts';
import type { NetworkAttachmentDefinition } from '../resources.ts';
import type { Shape } from '../shape.ts';
import { type Mesh, vniIn } from './multus-attachment.ts';
import { Vnis } from './multus-vnis.ts';
import type { Realised } from './provider.ts';

/** Which networks are joined over the nodes, by what, and how far they reach for it. */
export class MultusMesh {
  readonly #reach: Reach;
  readonly #vnis: Vnis;

  constructor(reach: Reach, attachments: Pick<Lister<NetworkAttachmentDefinition>, 'list'>) {
    this.#reach = reach;
    this.#vnis = new Vnis(attachments);
  }

  /**
   * What joins the Network; undefined where it is to be on each node apart. `ours` is its attachment, where there is one.
   * While pods use it that stays as it is: an address of the whole range, which such a pod may have, is one of another
   * node's when each has its slice.
   */
  choose(key: ObjectKey, ours: NetworkAttachmentDefinition | undefined, inUse: boolean): Mesh | undefined {
    const { mesh } = this.#reach;
    const before = ours && joinedNetworkOf(ours);
    // Either may have been edited.
    const recorded = (ours && vniIn(ours)) ?? before?.vni;
    const isJoined = ours && inUse ? recorded !== undefined : mesh !== undefined;
    if (!isJoined) return undefined;
    const mtu = mesh?.mtu() ?? before?.mtu ?? SMALLEST_MESH_MTU;
    return { vni: this.#vnis.vniFor(key, recorded), mtu };
  }

  /** The network is as the attachment says. */
  ready(attachment: NetworkAttachmentDefinition, { cidr }: Shape, change: Realised['change']): Realised {
    const { mesh } = this.#reach;
    const joined = joinedNetworkOf(attachment);
    const range = parseRange(cidr);
    const whole = range ? podCapacity(range) : 0;
    const capacity = joined && mesh ? mesh.capacityOf(joined) : whole;
    return { kind: 'ready', change, capacity, limit: this.#reach.limitOf(joined) };
  }

  /** The Network is gone. */
  release(key: ObjectKey): void {
    this.#vnis.release(key);
  }
}
