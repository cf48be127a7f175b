import { isNamespaceTerminating, isNotFound } from '../../../kube/api/api-error.ts';
import { keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import { hasFinalizer, withoutFinalizer } from '../../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../../api/names.ts';
import { NETWORKS, type NetworkAttachmentDefinition } from '../../api/resources.ts';
import { type Subnet, sameSubnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import type { NodeCoverage } from '../../nodes/cluster-nodes.ts';
import type { Ensured, NotReady, Provider, Removal, SpecError, Usage } from '../provider.ts';
import {
  AttachmentStore,
  type AttachmentStoreOptions,
  refOf,
  undefinedIfNotFound,
} from './attachment-store.ts';
import { attachmentFor, isMadeFor, networkOwner, subnetIn } from './multus-attachment.ts';
import {
  heldByOthers,
  nameConflict,
  terminating,
  terminatingNamespace,
  unavailable,
} from './multus-findings.ts';
import { type Change, MultusMesh } from './multus-mesh.ts';
import { disownmentOf, repairOf, undoesAnEdit } from './multus-repair.ts';
import type { MultusReason } from './reasons.ts';

export interface MultusOptions extends AttachmentStoreOptions {
  /** Their status shows which VXLAN identifiers are in use. */
  readonly networks: Pick<Lister<Network>, 'byIndex'>;
  /** The users of the Network with this key. Without it, users are not counted. */
  readonly usageOf?: ((key: ObjectKey) => Usage) | undefined;
  /** Which nodes its networks cover. Without it, the bridges of the nodes are separate. */
  readonly reach?: NodeCoverage | undefined;
}

/**
 * Realises a Network as a NetworkAttachmentDefinition of the same name. Multus attaches pods to it with the CNI
 * plugins bridge and host-local. The operator owns a definition with the Network's UID in its owner reference or, if
 * a user removed that, in its annotation. It never changes foreign definitions.
 */
export class MultusProvider implements Provider<MultusReason> {
  readonly name = 'multus';
  readonly attachesPods = true;
  readonly isRemote = false;
  readonly #client: MultusOptions['client'];
  readonly #usageOf: MultusOptions['usageOf'];
  readonly #mesh: MultusMesh;
  readonly #store: AttachmentStore;

  constructor(options: MultusOptions) {
    this.#client = options.client;
    this.#usageOf = options.usageOf;
    const reach = options.reach ?? { limitOf: () => undefined };
    this.#mesh = new MultusMesh(reach, options.networks, options.attachments.lister);
    this.#store = new AttachmentStore(options);
  }

  /** Call this when the informer sees a change of the definition with this key. */
  settle(key: ObjectKey): void {
    this.#store.settle(key);
  }

  /** bridge and host-local support everything that the CRD's rules allow. */
  validate(): SpecError | undefined {
    return undefined;
  }

  /** Users may edit definitions, so only the status shows the subnet. */
  async actual(): Promise<undefined> {
    return undefined;
  }

  async usage(network: Network): Promise<Usage | undefined> {
    const found = this.#store.known(keyOf(network));
    // Ignore pods attached to a definition that the operator does not own.
    if (this.#usageOf && found && !isMadeFor(found, network)) return { pods: [], allocated: 0 };
    return this.#usageOf?.(keyOf(network));
  }

  async ensure(network: Network, subnet: Subnet, signal: AbortSignal): Promise<Ensured<MultusReason>> {
    const step = (found: NetworkAttachmentDefinition | undefined) =>
      this.#ensure(network, subnet, found, signal);
    try {
      const first = await this.#store.current(network, signal);
      return await this.#store.fromLiveIfStale(network, first, step, signal);
    } catch (error) {
      if (isNamespaceTerminating(error)) return terminatingNamespace(network);
      if (isNotFound(error)) return unavailable();
      throw error;
    }
  }

  async remove(network: Network, { retain }: { retain: boolean }, signal: AbortSignal): Promise<Removal> {
    // The cache may not show a new definition yet.
    const first = this.#store.known(keyOf(network)) ?? (await this.#store.live(network, signal));
    const step = (found: NetworkAttachmentDefinition | undefined) =>
      this.#remove(network, found, retain, signal);
    return this.#store.fromLiveIfStale(network, first, step, signal);
  }

  async release(key: ObjectKey, signal: AbortSignal): Promise<void> {
    this.#mesh.release(key);
    const found = this.#store.known(key);
    if (found && hasFinalizer(found, NETWORK_FINALIZER)) await this.#releaseLeftover(found, signal);
  }

  async #ensure(
    network: Network,
    subnet: Subnet,
    found: NetworkAttachmentDefinition | undefined,
    signal: AbortSignal,
  ): Promise<Ensured<MultusReason>> {
    const ours = found && isMadeFor(found, network) ? found : undefined;
    const inUse = ((await this.usage(network))?.pods.length ?? 0) > 0;
    const mesh = this.#mesh.choose(network, ours, inUse);
    const wanted = attachmentFor(network, subnet, mesh);
    const ready = (change: Change) => this.#mesh.ready(keyOf(network), subnet, mesh, change);
    if (!found) {
      await this.#store.create(wanted, signal);
      return ready(network.status?.cidr === undefined ? 'created' : 'restored');
    }
    if (!ours) return this.#blockedBy(found, signal);
    if (found.metadata.deletionTimestamp) {
      const left = await this.#store.patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
      if (left.metadata.finalizers?.length) return terminating(left);
      await this.#store.create(wanted, signal);
      return ready('restored');
    }
    const repair = repairOf(found, wanted);
    if (repair.length === 0) return ready('none');
    await this.#store.patch(found, repair, signal);
    if (!undoesAnEdit(repair)) return ready('none');
    const before = subnetIn(found);
    return ready(before && !sameSubnet(before, subnet) ? 'updated' : 'restored');
  }

  async #remove(
    network: Network,
    found: NetworkAttachmentDefinition | undefined,
    retain: boolean,
    signal: AbortSignal,
  ): Promise<Removal> {
    if (!found) return { kind: 'gone' };
    const isOurs = networkOwner(found)?.uid === network.metadata.uid;
    // Without an owner (as after `kubectl delete --cascade=orphan`), the finalizer must not outlive the Network.
    const hasNoOwner = !networkOwner(found);
    if (!isOurs || retain) {
      if (isOurs || hasNoOwner) await this.#store.patch(found, disownmentOf(found), signal);
      return { kind: 'gone' };
    }
    if (!found.metadata.deletionTimestamp) await this.#store.delete(found, signal);
    const left = await this.#store.patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
    const others = left.metadata.finalizers ?? [];
    return others.length === 0 ? { kind: 'gone' } : heldByOthers(left, others);
  }

  /** A foreign definition of the same name is a conflict. A leftover of an earlier Network is released. */
  async #blockedBy(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<NotReady<MultusReason>> {
    if (!networkOwner(found)) return nameConflict(found);
    await this.#releaseLeftover(found, signal);
    return terminating(found);
  }

  /** Removes the finalizer from the definition of a deleted Network. The garbage collector deletes it. */
  async #releaseLeftover(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const owner = networkOwner(found);
    const live = await this.#client.get(NETWORKS, refOf(found), { signal }).catch(undefinedIfNotFound);
    // The cache is outdated: that Network exists.
    if (owner && live?.metadata.uid === owner.uid) return;
    const release = withoutFinalizer(found, NETWORK_FINALIZER);
    await this.#store.patch(found, release, signal).catch(undefinedIfNotFound);
  }
}
