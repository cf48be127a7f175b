import type { Operation } from 'fast-json-patch';
import { isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient, ObjectRef } from '../../kube/client/client.ts';
import { FIELD_MANAGER } from '../api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, type NetworkAttachmentDefinition } from '../api/resources.ts';

export interface AttachmentStoreOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'delete'>;
  /** Need not be synced, because it never is without Multus. */
  readonly attachments: Pick<Informer<NetworkAttachmentDefinition>, 'lister' | 'hasSynced'>;
}

/** The most attempts of one call; each retry starts from the live object. */
const MAX_ATTEMPTS = 3;

/** Reads NetworkAttachmentDefinitions from the cache and from the API server, and writes them. */
export class AttachmentStore {
  readonly #client: AttachmentStoreOptions['client'];
  readonly #attachments: AttachmentStoreOptions['attachments'];
  readonly #copies: MutationCache<NetworkAttachmentDefinition>;

  constructor({ client, attachments }: AttachmentStoreOptions) {
    this.#client = client;
    this.#attachments = attachments;
    this.#copies = new MutationCache(attachments.lister);
  }

  /** The cached definition, or the operator's newer write. */
  known(key: ObjectKey): NetworkAttachmentDefinition | undefined {
    return this.#copies.get(key);
  }

  /** Call this when the informer sees a change of the definition. */
  settle(key: ObjectKey): void {
    this.#copies.settle(key);
  }

  /** The definition from a synced cache, otherwise from the API server, so that it is not created twice. */
  async current(of: KubeObject, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    const known = this.known(keyOf(of));
    return known || this.#attachments.hasSynced() ? known : this.live(of, signal);
  }

  /** The definition from the API server; also undefined without Multus. */
  async live(of: KubeObject, signal: AbortSignal): Promise<NetworkAttachmentDefinition | undefined> {
    return this.#client.get(NETWORK_ATTACHMENT_DEFINITIONS, refOf(of), { signal }).catch(undefinedIfNotFound);
  }

  async create(wanted: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const options = { fieldManager: FIELD_MANAGER, signal };
    this.#copies.add(await this.#client.create(NETWORK_ATTACHMENT_DEFINITIONS, wanted, options));
  }

  /** Returns the patched definition, or `found` without operations. */
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

  /** Deletes exactly this definition, and not a replacement of the same name. */
  async delete(found: NetworkAttachmentDefinition, signal: AbortSignal): Promise<void> {
    const { uid } = found.metadata;
    const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
    await this.#client.delete(NETWORK_ATTACHMENT_DEFINITIONS, refOf(found), options);
  }

  /** Runs the step, and retries it with the live definition while the known one is outdated. */
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

/** The namespace and name of a definition or of its Network, which are the same. */
export function refOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { namespace, name };
}

export function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Whether the write was based on an outdated object. A 404 on creation means a missing CRD. */
function isStale(error: unknown, found: NetworkAttachmentDefinition | undefined): boolean {
  return isOvertaken(error) || (found !== undefined && isNotFound(error));
}
