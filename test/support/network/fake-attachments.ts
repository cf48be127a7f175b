import jsonpatch from 'fast-json-patch';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import { keyOf, type ObjectKey } from '../../../src/kube/api/object.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  type NetworkAttachmentDefinition,
} from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import type { MultusOptions } from '../../../src/networks/multus/multus.ts';
import { VNI_INDEXERS } from '../../../src/networks/multus/vnis.ts';

/** The API server's attachments, as far as the provider uses them, and a cache that only syncs when it is told. */
export class FakeAttachments {
  readonly live = new Map<ObjectKey, NetworkAttachmentDefinition>();
  readonly cache = new Store<NetworkAttachmentDefinition>();
  /** Requests in order, also those that failed. */
  readonly requests: string[] = [];
  /** What the next creation fails with. */
  refusal: ApiError | undefined;
  #version = 0;

  readonly attachments: MultusOptions['attachments'] = {
    lister: this.cache,
    hasSynced: () => this.hasSynced,
  };
  /** Whether the cache says that it has been filled. */
  hasSynced = true;
  /** The Networks whose status tells of VXLAN identifiers. */
  readonly networks = new Store<Network>(VNI_INDEXERS);

  readonly defaultMtu = () => 1450;

  readonly client: MultusOptions['client'] = {
    get: async (resource, { namespace, name }) => {
      this.requests.push(`get ${resource.plural}`);
      const isAttachment = resource.plural === NETWORK_ATTACHMENT_DEFINITIONS.plural;
      const found = isAttachment ? this.live.get(`${namespace}/${name}`) : undefined;
      if (!found) throw refusal(404, 'NotFound');
      return resource.decode(found);
    },
    create: async (resource, object) => {
      this.requests.push('create');
      if (this.refusal) throw this.refusal;
      const created = object as NetworkAttachmentDefinition;
      if (this.live.has(keyOf(created))) throw refusal(409, 'AlreadyExists');
      return resource.decode(this.store(created));
    },
    jsonPatch: async (resource, { namespace, name }, operations) => {
      this.requests.push('patch');
      const found = this.live.get(`${namespace}/${name}`);
      if (!found) throw refusal(404, 'NotFound');
      try {
        const patch = structuredClone([...operations]);
        const { newDocument } = jsonpatch.applyPatch(structuredClone(found), patch, true);
        return resource.decode(this.store(newDocument));
      } catch {
        throw refusal(422, 'Invalid');
      }
    },
    apply: async (resource, { namespace, name }, body) => {
      this.requests.push('apply');
      const found = this.live.get(`${namespace}/${name}`);
      const wanted = body as NetworkAttachmentDefinition;
      if (!found || found.metadata.resourceVersion !== wanted.metadata.resourceVersion)
        throw refusal(409, 'Conflict');
      const lists = { finalizers: found.metadata.finalizers, owners: found.metadata.ownerReferences };
      const { finalizers = [], ownerReferences = [], labels, annotations } = wanted.metadata;
      const others =
        lists.owners?.filter(({ uid }) => ownerReferences.every((each) => each.uid !== uid)) ?? [];
      const metadata = {
        ...found.metadata,
        labels: { ...found.metadata.labels, ...labels },
        annotations: { ...found.metadata.annotations, ...annotations },
        finalizers: [...new Set([...(lists.finalizers ?? []), ...finalizers])],
        ownerReferences: [...others, ...ownerReferences],
      };
      return resource.decode(this.store({ ...found, metadata, ...(wanted.spec && { spec: wanted.spec }) }));
    },
    mergePatch: async (resource, { namespace, name }, patch) => {
      this.requests.push('patch');
      const found = this.live.get(`${namespace}/${name}`);
      if (!found) throw refusal(404, 'NotFound');
      const { metadata } = patch as NetworkAttachmentDefinition;
      if (metadata.resourceVersion !== found.metadata.resourceVersion) throw refusal(409, 'Conflict');
      return resource.decode(this.store({ ...found, metadata: { ...found.metadata, ...metadata } }));
    },
    delete: async (_, { namespace, name }, options) => {
      this.requests.push('delete');
      const found = this.live.get(`${namespace}/${name}`);
      if (!found) throw refusal(404, 'NotFound');
      if (options?.preconditions?.uid !== found.metadata.uid) throw refusal(409, 'Conflict');
      this.store({ ...found, metadata: { ...found.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    },
  };

  /** What the server has, with the cache none the wiser. One that is being deleted goes with its last finalizer. */
  store(object: NetworkAttachmentDefinition): NetworkAttachmentDefinition {
    const resourceVersion = String(++this.#version);
    const { uid = `uid-${resourceVersion}` } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
    const isGone = stored.metadata.deletionTimestamp && !stored.metadata.finalizers?.length;
    if (isGone) this.live.delete(keyOf(stored));
    else this.live.set(keyOf(stored), stored);
    return stored;
  }

  /** The cache catches up. */
  sync(): void {
    for (const key of this.cache.keys()) this.cache.delete(key);
    for (const object of this.live.values()) this.cache.set(object);
  }
}

export function refusal(status: number, reason: string, causes: readonly string[] = []): ApiError {
  return new ApiError({ status, reason, message: reason, causes });
}
