import type { Operation } from 'fast-json-patch';
import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
} from '../../kube/api-error.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import type { Informer } from '../../kube/informer.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/object.ts';
import { parseRange, podCapacity } from '../cidr.ts';
import { hasFinalizer, withoutFinalizer } from '../finalizer.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER } from '../names.ts';
import { OwnWrites } from '../own-writes.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS, type NetworkAttachmentDefinition } from '../resources.ts';
import { type Shape, sameShape } from '../shape.ts';
import type { Network } from '../types.ts';
import { attachmentFor, networkOwner, shapeIn } from './multus-attachment.ts';
import { disownmentOf, repairOf } from './multus-repair.ts';
import type { NotReady, Provider, Realised, Refusal, Removal, Usage } from './provider.ts';

export interface MultusOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'delete'>;
  /** Need not be synced, and cannot be where Multus is not installed. */
  readonly attachments: Pick<Informer<NetworkAttachmentDefinition>, 'lister' | 'hasSynced'>;
  /** Live pods that are attached to the Network of this key. Without it nobody counts them. */
  readonly podsOn?: (key: ObjectKey) => readonly ObjectKey[];
}

/** How long until a missing CRD of Multus is looked for again. */
const UNAVAILABLE_RETRY_MS = 10_000;
/** How often one call goes on from the live object, where it met one that the cache did not show. */
const MAX_ATTEMPTS = 3;

/**
 * Makes a Network real as a NetworkAttachmentDefinition of the same name, which Multus attaches pods to by the CNI
 * plugins bridge and host-local. The definition is ours by the owner reference with the Network's UID, and by
 * nothing else: one of somebody else's is never changed.
 */
export class MultusProvider implements Provider {
  readonly name = 'multus';
  readonly #client: MultusOptions['client'];
  readonly #attachments: MultusOptions['attachments'];
  readonly #podsOn: MultusOptions['podsOn'];
  readonly #copies: OwnWrites<NetworkAttachmentDefinition>;

  constructor({ client, attachments, podsOn }: MultusOptions) {
    this.#client = client;
    this.#attachments = attachments;
    this.#podsOn = podsOn;
    this.#copies = new OwnWrites(attachments.lister);
  }

  /** Whatever the CRD's rules let through, bridge and host-local can do. */
  validate(): Refusal | undefined {
    return undefined;
  }

  async actual(network: Network, signal: AbortSignal): Promise<Shape | undefined> {
    const known = this.#copies.get(keyOf(network));
    const found = known ?? (this.#attachments.hasSynced() ? undefined : await this.#live(network, signal));
    return found && isOwnedBy(found, network) ? shapeIn(found) : undefined;
  }

  async usage(network: Network): Promise<Usage | undefined> {
    return this.#podsOn && { pods: this.#podsOn(keyOf(network)) };
  }

  async ensure(network: Network, shape: Shape, signal: AbortSignal): Promise<Realised | NotReady> {
    try {
      return await this.#fromLiveIfStale(network, signal, (found) =>
        this.#ensure(network, shape, found, signal),
      );
    } catch (error) {
      if (isNamespaceTerminating(error)) return terminatingNamespace(network);
      if (isNotFound(error)) return unavailable();
      throw error;
    }
  }

  async remove(network: Network, { retain }: { retain: boolean }, signal: AbortSignal): Promise<Removal> {
    // A definition that the cache does not show may have been created a moment ago.
    const first = this.#copies.get(keyOf(network)) ?? (await this.#live(network, signal));
    return this.#fromLiveIfStale(
      network,
      signal,
      (found) => this.#remove(network, found, retain, signal),
      first,
    );
  }

  async release(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const found = this.#copies.get(key);
    if (found && hasFinalizer(found, NETWORK_FINALIZER)) await this.#letGo(found, signal);
  }

  async #ensure(
    network: Network,
    shape: Shape,
    found: NetworkAttachmentDefinition | undefined,
    signal: AbortSignal,
  ): Promise<Realised | NotReady> {
    const wanted = attachmentFor(network, shape);
    if (!found) {
      const wasThere = network.status?.cidr !== undefined;
      await this.#create(wanted, signal);
      return ready(shape, wasThere ? 'restored' : 'created');
    }
    if (!isOwnedBy(found, network)) return this.#inTheWay(found, signal);
    if (found.metadata.deletionTimestamp) {
      const left = await this.#patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
      if (left.metadata.finalizers?.length) return terminating(left);
      await this.#create(wanted, signal);
      return ready(shape, 'restored');
    }
    const repair = repairOf(found, wanted);
    if (repair.length === 0) return ready(shape, 'none');
    await this.#patch(found, repair, signal);
    const before = shapeIn(found);
    return ready(shape, before && !sameShape(before, shape) ? 'updated' : 'restored');
  }

  async #remove(
    network: Network,
    found: NetworkAttachmentDefinition | undefined,
    retain: boolean,
    signal: AbortSignal,
  ): Promise<Removal> {
    if (!found) return { kind: 'gone' };
    if (!isOwnedBy(found, network)) {
      // Disowned, as by `kubectl delete --cascade=orphan`: our finalizer must not outlive the Network.
      if (!networkOwner(found)) await this.#patch(found, disownmentOf(found), signal);
      return { kind: 'gone' };
    }
    if (retain) {
      await this.#patch(found, disownmentOf(found), signal);
      return { kind: 'gone' };
    }
    const { uid, deletionTimestamp } = found.metadata;
    if (!deletionTimestamp) {
      await this.#client.delete(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), {
        preconditions: { uid },
        propagationPolicy: 'Background',
        signal,
      });
    }
    const left = await this.#patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal);
    const others = left.metadata.finalizers ?? [];
    return others.length === 0
      ? { kind: 'gone' }
      : {
          kind: 'blocked',
          message: `${describe(left)} waits for finalizers of others: ${others.join(', ')}`,
        };
  }

  /** Another's definition of our name is a conflict; one that an earlier Network left behind is helped to go. */
  async #inTheWay(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<NotReady> {
    if (!networkOwner(found)) return nameConflict(found);
    await this.#letGo(found, signal);
    return terminating(found);
  }

  /** Takes our finalizer off a definition whose Network is no more: the garbage collector does the rest. */
  async #letGo(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const owner = networkOwner(found);
    const live = await this.#client.get(NETWORKS, refOf(found), { signal }).catch(undefinedIfNotFound);
    // Our cache is behind: that Network is there.
    if (owner && live?.metadata.uid === owner.uid) return;
    await this.#patch(found, withoutFinalizer(found, NETWORK_FINALIZER), signal).catch(undefinedIfNotFound);
  }

  /** Runs the step on what is known, and again on what is really there while that turns out to be something else. */
  async #fromLiveIfStale<R>(
    network: Network,
    signal: AbortSignal,
    step: (found: NetworkAttachmentDefinition | undefined) => Promise<R>,
    first = this.#copies.get(keyOf(network)),
  ): Promise<R> {
    let found = first;
    for (let attempt = 1; ; attempt++) {
      try {
        return await step(found);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isStale(error, found)) throw error;
        found = await this.#live(network, signal);
      }
    }
  }

  async #live(network: Network, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    return this.#client
      .get(NETWORK_ATTACHMENT_DEFINITIONS, refOf(network), { signal })
      .catch(undefinedIfNotFound);
  }

  async #create(wanted: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const options = { fieldManager: FIELD_MANAGER, signal };
    this.#copies.add(await this.#client.create(NETWORK_ATTACHMENT_DEFINITIONS, wanted, options));
  }

  async #patch(
    found: NetworkAttachmentDefinition,
    operations: readonly Operation[],
    signal: AbortSignal,
  ): Promise<NetworkAttachmentDefinition> {
    if (operations.length === 0) return found;
    const options = { fieldManager: FIELD_MANAGER, signal };
    return this.#copies.add(
      await this.#client.jsonPatch(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), operations, options),
    );
  }
}

function isOwnedBy(found: NetworkAttachmentDefinition, network: Network): boolean {
  return networkOwner(found)?.uid === network.metadata.uid;
}

/** The write met another state than the one it was made for. A creation's 404 is a missing CRD, not that. */
function isStale(error: unknown, found: NetworkAttachmentDefinition | undefined): boolean {
  return (
    isAlreadyExists(error) ||
    isConflict(error) ||
    (found !== undefined && (isNotFound(error) || isInvalid(error)))
  );
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function ready(shape: Shape, change: Realised['change']): Realised {
  const range = parseRange(shape.cidr);
  return { kind: 'ready', change, capacity: range ? podCapacity(range) : 0 };
}

function nameConflict(found: NetworkAttachmentDefinition): NotReady {
  return {
    kind: 'notReady',
    reason: 'NameConflict',
    message: `${describe(found)} exists and does not belong to this Network: delete it, or give the Network another name`,
  };
}

function terminating(found: NetworkAttachmentDefinition): NotReady {
  const message = `${describe(found)} is being deleted: it is made anew once it is gone`;
  return { kind: 'notReady', reason: 'Terminating', message };
}

function terminatingNamespace({ metadata: { namespace } }: Network): NotReady {
  const message = `namespace ${namespace} is being deleted: nothing is created in it any more`;
  return { kind: 'notReady', reason: 'NamespaceTerminating', message };
}

function unavailable(): NotReady {
  return {
    kind: 'notReady',
    reason: 'ProviderUnavailable',
    message:
      'the cluster has no NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1): install Multus, it is looked for again every 10 s',
    retryAfterMs: UNAVAILABLE_RETRY_MS,
  };
}

function describe({ metadata: { namespace, name } }: KubeObject): string {
  return `NetworkAttachmentDefinition ${namespace}/${name}`;
}

function refOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { namespace, name };
}
