import type { Operation } from 'fast-json-patch';
import { TransportError } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { type Resource, resourcePath, type Target } from '../api/resource.ts';
import { type List, type ListPage, listPageOf, textBodyOf } from '../api/response.ts';
import {
  type CallOptions,
  type ClientOptions,
  JSON_TYPE,
  type Query,
  type RequestOptions,
  RestClient,
} from './rest-client.ts';

export type ObjectRef = Target & { readonly name: string };

export interface KubeClientOptions extends ClientOptions {
  /** Names the writer in managedFields. By default, the API server takes the start of the user agent. */
  readonly fieldManager?: string;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  /** Default: that of the client. */
  readonly fieldManager?: string;
  readonly subresource?: string;
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields of other managers. */
  readonly force?: boolean;
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Objects in one page; default 500. */
  readonly pageSize?: number | undefined;
}

export interface WatchOptions extends Omit<ListOptions, 'pageSize' | 'timeoutMs'> {
  /** After this many seconds the server ends the watch. */
  readonly timeoutSeconds: number;
}

/** Objects in one page of a list, as in client-go. Pages of large objects are smaller. */
const PAGE_SIZE = 500;

/**
 * A dynamic client like client-go's: for any resource, with objects as they are on the wire. Every method rejects with
 * an {@link ApiError} if the server refused the request, and a {@link TransportError} if there was no answer. It
 * retries a request a few times when that is safe: see retryDelay().
 */
export class KubeClient extends RestClient {
  readonly #fieldManager: string | undefined;

  constructor({ fieldManager, ...options }: KubeClientOptions) {
    super(options);
    this.#fieldManager = fieldManager;
  }

  async get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: CallOptions = {},
  ): Promise<T> {
    const call = { ...options, accept: acceptOf(resource) };
    return resource.decode(await this.request('GET', resourcePath(resource, ref), call));
  }

  /** POST, in the object's namespace; fails with `isAlreadyExists` if the object exists. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: { readonly metadata: { readonly namespace?: string | undefined } },
    options: Omit<WriteOptions, 'subresource'> = {},
  ): Promise<T> {
    const path = resourcePath(resource, { namespace: object.metadata.namespace });
    const call = { ...this.#write(options), accept: acceptOf(resource), body: object };
    return resource.decode(await this.request('POST', path, call));
  }

  /** JSON patch (RFC 6902); a failed `test` is 422. */
  jsonPatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    operations: readonly Operation[],
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch(resource, ref, 'application/json-patch+json', operations, options);
  }

  /**
   * JSON merge patch (RFC 7396); with `metadata.resourceVersion` in it, 409 if another client has written meanwhile.
   */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch(resource, ref, 'application/merge-patch+json', patch, options);
  }

  /** Server-side apply: this manager then owns exactly the fields of the object. */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    object: unknown,
    options: ApplyOptions & { readonly fieldManager: string },
  ): Promise<T> {
    // JSON is valid YAML: no encoder is needed.
    return this.#patch(resource, ref, 'application/apply-patch+yaml', object, options);
  }

  async delete(
    resource: Resource<KubeObject>,
    ref: ObjectRef,
    options: CallOptions & {
      readonly preconditions?: { readonly uid?: string | undefined };
      readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
    } = {},
  ): Promise<void> {
    const { preconditions, propagationPolicy, ...call } = options;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy };
    await this.request('DELETE', resourcePath(resource, ref), { ...call, body });
  }

  /** All objects, as they are on the wire. */
  list(resource: Resource<KubeObject>, options: ListOptions): Promise<List<unknown>>;
  /** A list of any length: only what `read` returns of each item is kept. */
  list<I>(resource: Resource<KubeObject>, options: ListOptions, read: (item: unknown) => I): Promise<List<I>>;
  async list(
    resource: Resource<KubeObject>,
    options: ListOptions,
    read = (item: unknown) => item,
  ): Promise<List<unknown>> {
    const items: unknown[] = [];
    let resourceVersion = '';
    for await (const page of this.pages(resource, options)) {
      for (const item of page.items) items.push(read(item));
      resourceVersion = page.resourceVersion;
    }
    return { items, resourceVersion };
  }

  /** The pages of a list, each requested when it is read. */
  async *pages(
    resource: Resource<KubeObject>,
    { namespace, signal, timeoutMs, pageSize = PAGE_SIZE, ...selection }: ListOptions,
  ): AsyncGenerator<ListPage, void, undefined> {
    const path = resourcePath(resource, { namespace });
    const call = { signal, timeoutMs, accept: acceptOf(resource, 'List') };
    let query: Query = selection;
    for (let limit = pageSize; ; ) {
      let body: unknown;
      try {
        body = await this.request('GET', path, { ...call, query: { ...query, limit } });
      } catch (error) {
        if (limit === 1 || !isTooLong(error)) throw error;
        limit = Math.ceil(limit / 10);
        continue;
      }
      const page = listPageOf(body);
      yield page;
      if (page.continue === undefined) return;
      query = { ...selection, resourceVersion: undefined, continue: page.continue };
    }
  }

  /**
   * Opens a watch and yields its events as they are on the wire, with bookmarks. The generator returns when the server
   * ends the watch; it throws when the connection breaks, and the signal's reason when the signal aborts.
   */
  watch(resource: Resource<KubeObject>, options: WatchOptions): AsyncGenerator<unknown, void, undefined> {
    const { namespace, signal = new AbortController().signal, ...selection } = options;
    const query = { ...selection, watch: true, allowWatchBookmarks: true };
    return this.stream(resourcePath(resource, { namespace }), {
      query,
      accept: acceptOf(resource),
      signal,
    });
  }

  /** GETs a text, such as the log of a pod, or a page behind the API server's proxy. */
  text(path: string, options: RequestOptions = {}): Promise<string> {
    return this.answer('GET', path, { accept: '*/*', ...options }, textBodyOf);
  }

  async #patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    { subresource, ...options }: ApplyOptions,
  ): Promise<T> {
    const path = resourcePath(resource, ref, subresource);
    const call = { ...this.#write(options), accept: acceptOf(resource), body, contentType };
    return resource.decode(await this.request('PATCH', path, call));
  }

  #write({ dryRun, fieldManager = this.#fieldManager, force, ...call }: ApplyOptions): RequestOptions {
    return { ...call, query: { dryRun: dryRun ? 'All' : undefined, fieldManager, force } };
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'ETOOLARGE';
}

/**
 * The Accept header of a get or a watch, or with the suffix of a list: the server answers 406 to the wrong one.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
 */
function acceptOf({ metadataOnly }: Resource<KubeObject>, suffix: '' | 'List' = ''): string {
  return metadataOnly ? `${JSON_TYPE};as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1` : JSON_TYPE;
}
