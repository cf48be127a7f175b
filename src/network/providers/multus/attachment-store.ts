import type { Operation } from 'fast-json-patch';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '../../../kube/api/api-error.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Informer } from '../../../kube/cache/informer.ts';
import { MutationCache } from '../../../kube/cache/mutation-cache.ts';
import type { KubeClient, ObjectRef } from '../../../kube/client/client.ts';
import { FIELD_MANAGER } from '../../api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, type NetworkAttachmentDefinition } from '../../api/resources.ts';

export interface AttachmentStoreOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'delete'>;
  /** Need not be synced, and cannot be where Multus is not installed. */
  readonly attachments: Pick<Informer<NetworkAttachmentDefinition>, 'lister' | 'hasSynced'>;
}

/** How often one call goes on from the live object, where it met one that the cache did not show. */
const MAX_ATTEMPTS = 3;

/** NetworkAttachmentDefinitions: as they are known here, as they really are, and the writes to them. */
export class AttachmentStore {
  readonly #client: AttachmentStoreOptions['client'];
  readonly #attachments: AttachmentStoreOptions['attachments'];
  readonly #copies: MutationCache<NetworkAttachmentDefinition>;

  constructor({ client, attachments }: AttachmentStoreOptions) {
    this.#client = client;
    this.#attachments = attachments;
    this.#copies = new MutationCache(attachments.lister);
  }

  /** As the cache has it, and our own last write. */
  known(key: ObjectKey): NetworkAttachmentDefinition | undefined {
    return this.#copies.get(key);
  }

  /** The informer has seen a change of it. */
  settle(key: ObjectKey): void {
    this.#copies.settle(key);
  }

  /** As the cache has it once that is synced, as the API server has it before: what is there must not be created again. */
  async current(of: KubeObject, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    const known = this.known(keyOf(of));
    return known || this.#attachments.hasSynced() ? known : this.live(of, signal);
  }

  /** As the API server has it; undefined also where Multus is not installed. */
  async live(of: KubeObject, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    return this.#client.get(NETWORK_ATTACHMENT_DEFINITIONS, refOf(of), { signal }).catch(undefinedIfNotFound);
  }

  async create(wanted: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const options = { fieldManager: FIELD_MANAGER, signal };
    this.#copies.add(await this.#client.create(NETWORK_ATTACHMENT_DEFINITIONS, wanted, options));
  }

  /** Returns what is there afterwards; without operations that is what was found. */
  async patch(
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

  /** Deletes this one, and no other that has come in its place. */
  async delete(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const { uid } = found.metadata;
    const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
    await this.#client.delete(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), options);
  }

  /** Runs the step on what was found, and on what is really there as long as that turns out to be something else. */
  async fromLiveIfStale<R>(
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
        if (attempt === MAX_ATTEMPTS || !isStale(error, found)) throw error;
        found = await this.live(of, signal);
      }
    }
  }
}

/** Its own namespace and name, or those of the Network that it would belong to: they are the same. */
export function refOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { namespace, name };
}

export function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** The write met another state than the one it was made for. A creation's 404 is a missing CRD, not that. */
function isStale(error: unknown, found: NetworkAttachmentDefinition | undefined): boolean {
  if (isAlreadyExists(error) || isConflict(error)) return true;
  return found !== undefined && (isNotFound(error) || isInvalid(error));
}
