import { ifFound, isNamespaceTerminating, isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { type KubeObject, keyOf, type ObjectKey, refOf } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER, UID_ANNOTATION } from '../api/names.ts';
import {
  hasFinalizer,
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
  type WantedAttachment,
  withoutFinalizer,
} from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import type { Definitions, NotReady, Realised, Removal } from '../providers.ts';
import { disownmentOf, isAsWanted, isMadeFor, madeForUid, networkOwner } from './attachment.ts';

export interface AttachmentsOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'mergePatch' | 'apply' | 'delete'>;
  /** Need not be synced, because it never is without Multus. */
  readonly attachments: Pick<Informer<NetworkAttachmentDefinition>, 'lister' | 'hasSynced'>;
}

/** The most attempts of one call; each retry starts from the live object. */
const MAX_ATTEMPTS = 3;

/**
 * Keeps for each Network a NetworkAttachmentDefinition of the same name. The operator owns a definition with the
 * Network's UID in its owner reference or, if a user removed that, in its annotation, or with its own text. It never
 * changes others.
 */
export class Attachments implements Definitions {
  readonly #client: AttachmentsOptions['client'];
  readonly #attachments: AttachmentsOptions['attachments'];
  /** Call its `settle` when the informer sees a change of a definition. */
  readonly copies: MutationCache<NetworkAttachmentDefinition>;

  constructor({ client, attachments }: AttachmentsOptions) {
    this.#client = client;
    this.#attachments = attachments;
    this.copies = new MutationCache(attachments.lister);
  }

  async ensure(
    network: Network,
    wanted: WantedAttachment,
    signal: AbortSignal,
  ): Promise<Realised['change'] | NotReady> {
    try {
      const known = this.copies.get(keyOf(network));
      // Without a synced cache from the API server, so that it is not created twice.
      const first = known || this.#attachments.hasSynced() ? known : await this.#live(network, signal);
      return await this.#retried(
        network,
        first,
        (found) => this.#ensure(network, wanted, found, signal),
        signal,
      );
    } catch (error) {
      if (isNamespaceTerminating(error)) {
        const message = `namespace ${network.metadata.namespace} is being deleted: the API server creates no objects in it`;
        return notReady('NamespaceTerminating', message, {});
      }
      if (isNotFound(error)) {
        const message =
          'the cluster does not serve NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1): install Multus; rechecked every 10 s';
        const retry = { keepsKnown: true, retryAfterMs: UNAVAILABLE_RETRY_MS } as const;
        return notReady('ProviderUnavailable', message, retry);
      }
      throw error;
    }
  }

  async remove(network: Network, retain: boolean, signal: AbortSignal): Promise<Removal> {
    // The cache may not show a new definition yet.
    const first = this.copies.get(keyOf(network)) ?? (await this.#live(network, signal));
    return this.#retried(network, first, (found) => this.#remove(network, found, retain, signal), signal);
  }

  /** Releases the definition that an earlier Network of this key has left behind. */
  async release(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const found = this.copies.get(key);
    if (found && hasFinalizer(found, NETWORK_FINALIZER)) await this.#releaseLeftover(found, signal);
  }

  async #ensure(
    network: Network,
    wanted: WantedAttachment,
    found: NetworkAttachmentDefinition | undefined,
    signal: AbortSignal,
  ): Promise<Realised['change'] | NotReady> {
    if (!found) {
      await this.#create(wanted, signal);
      return network.status?.cidr === undefined ? 'created' : 'restored';
    }
    if (!isMadeFor(found, network)) {
      // A foreign definition of the same name is a conflict. A leftover of an earlier Network is released.
      if (!networkOwner(found)) return nameConflict(found);
      await this.#releaseLeftover(found, signal);
      return terminating(found);
    }
    if (found.metadata.deletionTimestamp) {
      const left = await this.#withoutFinalizer(found, signal);
      if (left.metadata.finalizers?.length) return terminating(left);
      await this.#create(wanted, signal);
      return 'restored';
    }
    if (isAsWanted(found, wanted)) return 'none';
    const { uid, resourceVersion } = found.metadata;
    const body = { ...wanted, metadata: { ...wanted.metadata, uid, resourceVersion } };
    const options = { fieldManager: FIELD_MANAGER, force: true, signal };
    this.copies.add(await this.#client.apply(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), body, options));
    return 'restored';
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
      const patch = isOurs || hasNoOwner ? disownmentOf(found) : undefined;
      if (patch)
        await this.#client.mergePatch(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), patch, { signal });
      return { kind: 'gone' };
    }
    if (!found.metadata.deletionTimestamp) {
      // Exactly this definition, and not a replacement of the same name.
      const { uid } = found.metadata;
      const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
      await this.#client.delete(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), options);
    }
    const left = await this.#withoutFinalizer(found, signal);
    const { finalizers = [] } = left.metadata;
    if (finalizers.length === 0) return { kind: 'gone' };
    const message = `${describe(left)} still has other finalizers: ${finalizers.join(', ')}`;
    return { kind: 'blocked', message };
  }

  /** Removes the finalizer from the definition of a deleted Network. The garbage collector deletes it. */
  async #releaseLeftover(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const owner = networkOwner(found);
    const live = await ifFound(this.#client.get(NETWORKS, refOf(found), { signal }));
    // The cache is outdated: that Network exists.
    if (owner && live?.metadata.uid === owner.uid) return;
    await ifFound(this.#withoutFinalizer(found, signal));
  }

  /** The definition from the API server, also by its Network, which has its name; also undefined without Multus. */
  #live(of: KubeObject, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    return ifFound(this.#client.get(NETWORK_ATTACHMENT_DEFINITIONS, refOf(of), { signal }));
  }

  async #create(wanted: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    this.copies.add(await this.#client.create(NETWORK_ATTACHMENT_DEFINITIONS, wanted, { signal }));
  }

  async #withoutFinalizer(
    found: NetworkAttachmentDefinition,
    signal: AbortSignal,
  ): Promise<NetworkAttachmentDefinition> {
    const operations = withoutFinalizer(found, NETWORK_FINALIZER);
    if (operations.length === 0) return found;
    return this.copies.add(
      await this.#client.jsonPatch(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), operations, { signal }),
    );
  }

  /** Runs the step, and retries it with the live definition while the known one is outdated. */
  async #retried<R>(
    of: KubeObject,
    first: NetworkAttachmentDefinition | undefined,
    step: (found: NetworkAttachmentDefinition | undefined) => Promise<R>,
    signal: AbortSignal,
  ): Promise<R> {
    let found = first;
    for (let attempt = 1; ; attempt++) {
      try {
        return await step(found);
      } catch (error) {
        // A 404 on creation means a missing CRD.
        const isStale = isOvertaken(error) || (found !== undefined && isNotFound(error));
        if (attempt === MAX_ATTEMPTS || !isStale) throw error;
        found = await this.#live(of, signal);
      }
    }
  }
}

/** The retry interval for a missing CRD of Multus. */
const UNAVAILABLE_RETRY_MS = 10_000;

function notReady(reason: string, message: string, more: Partial<NotReady> = { keepsKnown: true }): NotReady {
  return { kind: 'notReady', reason, message, ...more };
}

function nameConflict(found: KubeObject): NotReady {
  const message =
    madeForUid(found) === undefined
      ? `${describe(found)} exists and does not belong to this Network: delete it, or rename the Network`
      : `${describe(found)} remains from a deleted Network: delete it, or remove its annotation ${UID_ANNOTATION} for this Network to adopt it`;
  return notReady('NameConflict', message);
}

/** Bridge names are short hashes of keys. Pods on both Networks would be on one bridge. */
export function bridgeConflict({ metadata: { namespace, name } }: Network): NotReady {
  const message = `Network ${namespace}/${name} has a bridge of the same name on the nodes: recreate this Network under another name`;
  return notReady('NameConflict', message);
}

function terminating(found: KubeObject): NotReady {
  return notReady('Terminating', `${describe(found)} is being deleted: the operator recreates it afterwards`);
}

/** The definition is there, but pods would start without their interface. */
export function nowhere(obstacle: string): NotReady {
  return notReady('ProviderUnavailable', `${obstacle}: install Multus as the nodes' first CNI configuration`);
}

function describe({ metadata: { namespace, name } }: KubeObject): string {
  return `NetworkAttachmentDefinition ${namespace}/${name}`;
}
