import jsonpatch from 'fast-json-patch';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../../src/kube/api/object.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import type { ObjectRef } from '../../../src/kube/client/client.ts';
import type { NetworkAttachmentDefinition } from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import type { MultusOptions } from '../../../src/networks/multus/multus.ts';
import { MULTUS_INDEXERS } from '../../../src/networks/multus/vnis.ts';
import type { Usage } from '../../../src/networks/providers.ts';

type Stored<T> = { -readonly [K in keyof T]: T[K] } & KubeObject & { spec?: unknown; status?: unknown };

/** The API server's objects of one resource, as far as the operator uses it. */
export class FakeObjects<T extends KubeObject> {
  readonly live = new Map<ObjectKey, T>();
  /** Requests in order, also those that failed. */
  readonly requests: string[] = [];
  /** What the next creation fails with. */
  refusal: ApiError | undefined;
  #version = 0;

  readonly client: MultusOptions['client'] = {
    get: async (resource, ref) => {
      this.requests.push(`get ${resource.plural}`);
      return resource.decode(this.#found(ref));
    },
    create: async (resource, object) => {
      this.requests.push('create');
      if (this.refusal) throw this.refusal;
      if (this.live.has(keyOf(object as T))) throw refusal(409, 'AlreadyExists');
      return resource.decode(this.store(object as T));
    },
    jsonPatch: async (resource, ref, operations) => {
      this.requests.push('patch');
      const found = this.#found(ref);
      try {
        const patch = structuredClone([...operations]);
        const { newDocument } = jsonpatch.applyPatch(structuredClone(found), patch, true);
        return resource.decode(this.store(newDocument));
      } catch {
        throw refusal(422, 'Invalid');
      }
    },
    apply: async (resource, ref, body) => {
      this.requests.push('apply');
      const { metadata: wanted, spec, status } = body as Stored<T>;
      const { metadata: found } = this.#matching(ref, body);
      const { finalizers = [], ownerReferences = [], labels, annotations } = wanted;
      const others = found.ownerReferences?.filter(({ uid }) =>
        ownerReferences.every((each) => each.uid !== uid),
      );
      const metadata = {
        ...found,
        labels: { ...found.labels, ...labels },
        annotations: { ...found.annotations, ...annotations },
        finalizers: [...new Set([...(found.finalizers ?? []), ...finalizers])],
        ownerReferences: [...(others ?? []), ...ownerReferences],
      };
      const object = {
        ...this.#found(ref),
        metadata,
        ...(spec !== undefined && { spec }),
        ...(status !== undefined && { status }),
      };
      return resource.decode(this.store(object));
    },
    mergePatch: async (resource, ref, patch) => {
      this.requests.push('patch');
      const found = this.#matching(ref, patch);
      return resource.decode(
        this.store({ ...found, metadata: { ...found.metadata, ...(patch as T).metadata } }),
      );
    },
    delete: async (_, ref, options) => {
      this.requests.push('delete');
      const found = this.#found(ref);
      if (options?.preconditions?.uid !== found.metadata.uid) throw refusal(409, 'Conflict');
      this.store({ ...found, metadata: { ...found.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    },
  };

  /** What the server has, with the cache none the wiser. One that is being deleted goes with its last finalizer. */
  store(object: T): T {
    const resourceVersion = String(++this.#version);
    const { uid = `uid-${resourceVersion}` } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
    const isGone = stored.metadata.deletionTimestamp && !stored.metadata.finalizers?.length;
    if (isGone) this.live.delete(keyOf(stored));
    else this.live.set(keyOf(stored), stored);
    return stored;
  }

  #found({ namespace, name }: ObjectRef): T {
    const found = this.live.get(`${namespace}/${name}`);
    if (!found) throw refusal(404, 'NotFound');
    return found;
  }

  /** The object, if the write is based on its version. */
  #matching(ref: ObjectRef, write: unknown): T {
    const found = this.live.get(`${ref.namespace}/${ref.name}`);
    const { resourceVersion } = (write as T).metadata;
    if (found && found.metadata.resourceVersion !== resourceVersion) throw refusal(409, 'Conflict');
    return this.#found(ref);
  }
}

/** The API server's attachments, and a cache that only syncs when it is told. */
export class FakeAttachments extends FakeObjects<NetworkAttachmentDefinition> {
  readonly cache = new Store<NetworkAttachmentDefinition>();
  readonly attachments: MultusOptions['attachments'] = {
    lister: this.cache,
    hasSynced: () => this.hasSynced,
  };
  /** Whether the cache says that it has been filled. */
  hasSynced = true;
  /** The Networks whose status tells of VXLAN identifiers. */
  readonly networks = new Store<Network>(MULTUS_INDEXERS);

  readonly usageOf = (): Usage => ({ pods: [] });
  readonly access = { isShared: () => false };
  readonly nodes = { mtu: () => 1450, withoutMultus: (): string | undefined => undefined };

  /** The cache catches up. */
  sync(): void {
    for (const key of this.cache.keys()) this.cache.delete(key);
    for (const object of this.live.values()) this.cache.set(object);
  }
}

export function refusal(status: number, reason: string, causes: readonly string[] = []): ApiError {
  return new ApiError({ status, reason, message: reason, causes });
}
