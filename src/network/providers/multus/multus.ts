import { isNamespaceTerminating, isNotFound } from '../../../kube/api/api-error.ts';
import { keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import { capacityOf, poolsOf } from '../../addresses/pool.ts';
import { hasFinalizer, withoutFinalizer } from '../../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../../api/names.ts';
import { NETWORKS, type NetworkAttachmentDefinition } from '../../api/resources.ts';
import type { Subnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import type { Ensured, NotReady, Provider, Realised, Removal, SpecError, Usage } from '../provider.ts';
import {
  AttachmentStore,
  type AttachmentStoreOptions,
  refOf,
  undefinedIfNotFound,
} from './attachment-store.ts';
import { hasRange, vniIn } from './cni-config.ts';
import { attachmentFor, isMadeFor, networkOwner } from './multus-attachment.ts';
import {
  heldByOthers,
  nameConflict,
  terminating,
  terminatingNamespace,
  unavailable,
} from './multus-findings.ts';
import { disownmentOf, repairOf, undoesAnEdit } from './multus-repair.ts';
import { Vnis } from './multus-vnis.ts';
import type { MultusReason } from './reasons.ts';

export interface MultusOptions extends AttachmentStoreOptions {
  /** Their status shows which VXLAN identifiers are in use. */
  readonly networks: Pick<Lister<Network>, 'byIndex'>;
  /** The users of the Network. Without it, users are not counted. */
  readonly usageOf?: ((network: Network) => Usage) | undefined;
  /** The MTU of networks whose spec sets none, in bytes. */
  readonly defaultMtu: () => number;
  /** Whether pods of all namespaces may use the Network. Without it, they may not. */
  readonly isShared?: ((key: ObjectKey) => boolean) | undefined;
}

/**
 * Realises a Network as a NetworkAttachmentDefinition of the same name. Multus attaches pods to it with the CNI
 * plugin bridge, and node agents connect the bridges. The operator owns a definition with the Network's UID in its
 * owner reference or, if a user removed that, in its annotation, or with its own text. It never changes others.
 */
export class MultusProvider implements Provider<MultusReason> {
  readonly name = 'multus';
  readonly attachesPods = true;
  readonly isRemote = false;
  readonly defaultMtu: () => number;
  readonly #client: MultusOptions['client'];
  readonly #usageOf: MultusOptions['usageOf'];
  readonly #isShared: (key: ObjectKey) => boolean;
  readonly #vnis: Vnis;
  readonly #store: AttachmentStore;

  constructor(options: MultusOptions) {
    this.#client = options.client;
    this.#usageOf = options.usageOf;
    this.defaultMtu = options.defaultMtu;
    this.#isShared = options.isShared ?? (() => false);
    this.#vnis = new Vnis(options.networks, options.attachments.lister);
    this.#store = new AttachmentStore(options);
  }

  /** Call this when the informer sees a change of the definition with this key. */
  settle(key: ObjectKey): void {
    this.#store.settle(key);
  }

  /** bridge supports everything that the CRD's rules allow. */
  validate(): SpecError | undefined {
    return undefined;
  }

  /** Users may edit definitions, so only the status shows the subnet. */
  async actual(): Promise<undefined> {
    return undefined;
  }

  async usage(network: Network): Promise<Usage | undefined> {
    const found = this.#store.known(keyOf(network));
    // Ignore pods attached to a definition that was never the operator's.
    const isForeign = network.status?.cidr === undefined && found && !isMadeFor(found, network);
    return this.#usageOf && isForeign ? { pods: [], allocated: 0 } : this.#usageOf?.(network);
  }

  /**
   * Whether pods get the addresses that the operator writes into their annotations. A definition of an earlier release
   * has each node give out its own.
   */
  takesAddresses(key: ObjectKey): boolean {
    return !hasRange(this.#store.known(key)?.spec?.config);
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
    this.#vnis.release(key);
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
    const { vni: known = network.status?.cidr === undefined ? undefined : vniIn(ours?.spec?.config) } =
      network.status ?? {};
    const vni = this.#vnis.vniFor(network, known);
    const capacity = capacityOf(poolsOf(subnet, network.spec.exclude));
    const ready = (change: Realised['change']): Realised => ({ kind: 'ready', change, capacity, vni });
    const text = attachmentFor(network, subnet.mtu, this.#isShared(keyOf(network)));
    if (!found) {
      await this.#store.create(text, signal);
      return ready(network.status?.cidr === undefined ? 'created' : 'restored');
    }
    if (!ours) return this.#blockedBy(found, signal);
    if (found.metadata.deletionTimestamp) {
      const left = await this.#store.patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
      if (left.metadata.finalizers?.length) return terminating(left);
      await this.#store.create(text, signal);
      return ready('restored');
    }
    const isOld = hasRange(found.spec?.config);
    const areCurrent = (await this.usage(network))?.nodes?.areCurrent ?? true;
    // An old agent would not let pods attach with the new text.
    const wanted = isOld && !areCurrent ? { ...text, spec: { ...text.spec, ...found.spec } } : text;
    const repair = repairOf(found, wanted);
    if (repair.length === 0) return ready('none');
    await this.#store.patch(found, repair, signal);
    return ready(isOld || !undoesAnEdit(repair) ? 'none' : 'restored');
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
