import type { ObjectKey } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { NetworkAttachmentDefinition } from '../../api/resources.ts';
import type { Subnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import { parseRange, podCapacity } from '../../ipam/cidr.ts';
import type { NodeCoverage } from '../../nodes/cluster-nodes.ts';
import type { Realised } from '../provider.ts';
import { type Mesh, meshIn, meshNetwork, SMALLEST_MESH_MTU } from './cni-config.ts';
import { vniIn } from './multus-attachment.ts';
import { Vnis } from './multus-vnis.ts';
import type { MultusReason } from './reasons.ts';

export type Change = Realised<MultusReason>['change'];

/** Decides which networks span the nodes, and with which mesh. */
export class MultusMesh {
  readonly #coverage: NodeCoverage;
  readonly #vnis: Vnis;

  constructor(
    coverage: NodeCoverage,
    networks: Pick<Lister<Network>, 'byIndex'>,
    attachments: Pick<Lister<NetworkAttachmentDefinition>, 'get'>,
  ) {
    this.#coverage = coverage;
    this.#vnis = new Vnis(networks, attachments);
  }

  /**
   * The mesh of the Network; undefined if it stays separate on each node. `ours` is its attachment, if it exists. The
   * mesh does not change while pods use the Network: a pod from before the slices may have an address in the slice of
   * another node.
   */
  choose(network: Network, ours: NetworkAttachmentDefinition | undefined, inUse: boolean): Mesh | undefined {
    const { mesh } = this.#coverage;
    const isReal = network.status?.cidr !== undefined;
    // Earlier releases did not write it into the status.
    const recorded = network.status?.vni ?? (isReal && ours ? vniIn(ours) : undefined);
    const isJoined = isReal && inUse ? recorded !== undefined : mesh !== undefined;
    if (!isJoined) return undefined;
    const mtu = mesh?.mtu() ?? meshIn(ours?.spec?.config)?.mtu ?? SMALLEST_MESH_MTU;
    return { vni: this.#vnis.vniFor(network, recorded), mtu };
  }

  /** The result for a network with this subnet and this mesh. */
  ready(key: ObjectKey, subnet: Subnet, joinedBy: Mesh | undefined, change: Change): Realised<MultusReason> {
    const { mesh } = this.#coverage;
    const joined = joinedBy && meshNetwork(key, subnet, joinedBy);
    const range = parseRange(subnet.cidr);
    const whole = range ? podCapacity(range) : 0;
    const capacity = joined && mesh ? mesh.capacityOf(joined) : whole;
    const vni = joinedBy && { vni: joinedBy.vni };
    return { kind: 'ready', change, capacity, ...vni, limit: this.#coverage.limitOf(joined) };
  }

  /** Frees the VXLAN identifier of a deleted Network. */
  release(key: ObjectKey): void {
    this.#vnis.release(key);
  }
}
