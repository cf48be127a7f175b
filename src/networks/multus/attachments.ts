import { isNamespaceTerminating, isNotFound } from '../../kube/api/api-error.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { hasFinalizer, withoutFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { NETWORKS, type NetworkAttachmentDefinition } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import type { NotReady, Realised, Removal } from '../providers/provider.ts';
import {
  AttachmentStore,
  type AttachmentStoreOptions,
  refOf,
  undefinedIfNotFound,
} from './attachment-store.ts';
import { isMadeFor, networkOwner, type WantedAttachment } from './multus-attachment.ts';
import {
  heldByOthers,
  nameConflict,
  terminating,
  terminatingNamespace,
  unavailable,
} from './multus-findings.ts';
import { disownmentOf, repairOf, undoesAnEdit } from './multus-repair.ts';
import type { MultusReason } from './reasons.ts';

/** The definition of the Network is there. */
interface Attachable extends Pick<Realised, 'change'> {
  readonly kind: 'attachable';
}

/** The definition to keep. `ours` is the present one, if the operator owns it. */
type WantedFor = (ours: NetworkAttachmentDefinition | undefined) => Promise<{
  readonly wanted: WantedAttachment;
  /** Whether the new text replaces one of an earlier release, and not the edit of a user. */
  readonly isUpgrade?: boolean;
}>;

/**
 * Keeps for each Network a NetworkAttachmentDefinition of the same name. The operator owns a definition with the
 * Network's UID in its owner reference or, if a user removed that, in its annotation, or with its own text. It never
 * changes others.
 */
export class Attachments {
  readonly #client: AttachmentStoreOptions['client'];
  readonly #store: AttachmentStore;

  constructor(options: AttachmentStoreOptions) {
    this.#client = options.client;
    this.#store = new AttachmentStore(options);
  }

  /** Call this when the informer sees a change of the definition with this key. */
  settle(key: ObjectKey): void {
    this.#store.settle(key);
  }

  /** The cached definition, or the operator's newer write. */
  known(key: ObjectKey): NetworkAttachmentDefinition | undefined {
    return this.#store.known(key);
  }

  /** Creates or restores the definition. */
  async ensure(
    network: Network,
    wantedFor: WantedFor,
    signal: AbortSignal,
  ): Promise<Attachable | NotReady<MultusReason>> {
    const step = (found: NetworkAttachmentDefinition | undefined) =>
      this.#ensure(network, wantedFor, found, signal);
    try {
      const first = await this.#store.current(network, signal);
      return await this.#store.fromLiveIfStale(network, first, step, signal);
    } catch (error) {
      if (isNamespaceTerminating(error)) return terminatingNamespace(network);
      if (isNotFound(error)) return unavailable();
      throw error;
    }
  }

  /** Deletes the definition; with `retain`, keeps it without ownership. */
  async remove(network: Network, retain: boolean, signal: AbortSignal): Promise<Removal> {
    // The cache may not show a new definition yet.
    const first = this.#store.known(keyOf(network)) ?? (await this.#store.live(network, signal));
    const step = (found: NetworkAttachmentDefinition | undefined) =>
      this.#remove(network, found, retain, signal);
    return this.#store.fromLiveIfStale(network, first, step, signal);
  }

  /** Releases the definition that an earlier Network of this key has left behind. */
  async release(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const found = this.#store.known(key);
    if (found && hasFinalizer(found, NETWORK_FINALIZER)) await this.#releaseLeftover(found, signal);
  }

  async #ensure(
    network: Network,
    wantedFor: WantedFor,
    found: NetworkAttachmentDefinition | undefined,
    signal: AbortSignal,
  ): Promise<Attachable | NotReady<MultusReason>> {
    const ours = found && isMadeFor(found, network) ? found : undefined;
    const attachable = (change: Realised['change']): Attachable => ({ kind: 'attachable', change });
    const { wanted, isUpgrade = false } = await wantedFor(ours);
    if (!found) {
      await this.#store.create(wanted, signal);
      return attachable(network.status?.cidr === undefined ? 'created' : 'restored');
    }
    if (!ours) return this.#blockedBy(found, signal);
    if (found.metadata.deletionTimestamp) {
      const left = await this.#store.patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
      if (left.metadata.finalizers?.length) return terminating(left);
      await this.#store.create(wanted, signal);
      return attachable('restored');
    }
    const repair = repairOf(found, wanted);
    if (repair.length === 0) return attachable('none');
    await this.#store.patch(found, repair, signal);
    return attachable(isUpgrade || !undoesAnEdit(repair) ? 'none' : 'restored');
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
