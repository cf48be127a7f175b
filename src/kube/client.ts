import type { Operation } from 'fast-json-patch';
import type { Clock } from '../workqueue/clock.ts';
import { asTransportError } from './api-error.ts';
import { withDeadline } from './deadline.ts';
import { jsonLines } from './json-lines.ts';
import type { KubeObject } from './object.ts';
import { type Resource, resourcePath } from './resource.ts';
import { bodyOf, errorOf, type ListPage, narrowList } from './response.ts';
import { retryDelay } from './retry.ts';
import { sleep } from './sleep.ts';
import type { Method, Transport, TransportResponse } from './transport.ts';

export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bound of one attempt, from asking to the last byte, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly subresource?: string;
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue' | 'timeoutMs'> {
  /** After how many seconds the server ends the watch by itself. */
  readonly timeoutSeconds: number;
  /** First the present objects as ADDED, then a bookmark that says so (KEP-3157). */
  readonly sendInitialEvents?: true | undefined;
  readonly resourceVersionMatch?: 'NotOlderThan' | undefined;
}

export interface ClientMetrics {
  /** An attempt ended: its HTTP status, or `<error>` where none came (client-go's rest_client_requests_total). */
  requestFinished(method: Method, code: string, seconds: number): void;
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics?: ClientMetrics;
  /** Default bound of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Gives way to others: resolves when the next request may be sent. None: the server's own fairness (APF) decides. */
  readonly waitTurn?: (signal: AbortSignal | undefined) => Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * A dynamic client, as client-go's: any resource, objects as they are on the wire. Every method rejects with an
 * {@link ApiError} for what the server refused and a {@link TransportError} for what never reached it or was not
 * answered. What is safe to send again is sent again, a few times: see retryDelay().
 */
export class KubeClient {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #metrics: ClientMetrics | undefined;
  readonly #timeoutMs: number;
  readonly #waitTurn: ClientOptions['waitTurn'];

  constructor({ transport, clock, metrics, timeoutMs = DEFAULT_TIMEOUT_MS, waitTurn }: ClientOptions) {
    this.#transport = transport;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#timeoutMs = timeoutMs;
    this.#waitTurn = waitTurn;
  }

  async get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: CallOptions = {},
  ): Promise<T> {
    const call = { ...options, accept: acceptOf(resource) };
    return resource.narrow(await this.request('GET', resourcePath(resource, ref), call));
  }

  /** POST: fails with `isAlreadyExists` where there is one. The namespace is the object's own. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: { readonly metadata: { readonly namespace?: string | undefined } },
    { subresource, ...options }: WriteOptions = {},
  ): Promise<T> {
    const path = resourcePath(resource, { namespace: object.metadata.namespace }, subresource);
    return resource.narrow(await this.request('POST', path, { ...write(options), body: object }));
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

  /** JSON merge patch (RFC 7396); with `metadata.resourceVersion` in it, 409 when somebody wrote in between. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch(resource, ref, 'application/merge-patch+json', patch, options);
  }

  /** Server-side apply: the object holds the fields that this manager states, and no other. */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    object: unknown,
    options: WriteOptions & { readonly fieldManager: string; readonly force?: boolean },
  ): Promise<T> {
    // JSON is YAML: no encoder is needed.
    return this.#patch(resource, ref, 'application/apply-patch+yaml', object, options, {
      force: options.force,
    });
  }

  async delete(
    resource: Resource<KubeObject>,
    ref: ObjectRef,
    options: CallOptions & {
      readonly preconditions?: {
        readonly uid?: string | undefined;
        readonly resourceVersion?: string | undefined;
      };
      readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
    } = {},
  ): Promise<void> {
    const { preconditions, propagationPolicy, ...call } = options;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy };
    await this.request('DELETE', resourcePath(resource, ref), { ...call, body });
  }

  /** One page of a list. */
  async list(resource: Resource<KubeObject>, options: ListOptions): Promise<ListPage> {
    const { namespace, signal, timeoutMs, ...query } = options;
    const path = resourcePath(resource, { namespace });
    return narrowList(
      await this.request('GET', path, { signal, timeoutMs, query, accept: acceptOf(resource) }),
    );
  }

  /**
   * Opens a watch and yields its events as they are on the wire, bookmarks too, until the server ends it (the
   * generator returns), the connection breaks (it throws) or the signal aborts (it throws the signal's reason).
   */
  async *watch(
    resource: Resource<KubeObject>,
    options: WatchOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    const { namespace, signal = new AbortController().signal, ...query } = options;
    const path = withQuery(resourcePath(resource, { namespace }), {
      ...query,
      watch: true,
      allowWatchBookmarks: true,
    });
    const headers = { ...HEADERS, Accept: acceptOf(resource) };
    const response = await this.#measured('GET', () =>
      this.#transport.send({ method: 'GET', path, headers, signal, streaming: true }),
    );
    try {
      if (response.status !== 200) throw await errorOf(response);
      yield* jsonLines(response.body);
    } catch (error) {
      signal.throwIfAborted();
      throw asTransportError(error, `watch ${path.split('?')[0]}`);
    } finally {
      response.body.destroy();
    }
  }

  /** One call of the API by its path; the parsed body. For what has no {@link Resource}, such as `/version`. */
  async request(
    method: Method,
    path: string,
    {
      query,
      body,
      contentType = JSON_TYPE,
      accept = JSON_TYPE,
      signal,
      timeoutMs = this.#timeoutMs,
    }: RawCall = {},
  ): Promise<unknown> {
    const headers = {
      ...HEADERS,
      Accept: accept,
      ...(body === undefined ? {} : { 'Content-Type': contentType }),
    };
    const request = {
      method,
      path: withQuery(path, query),
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    for (let attempt = 1; ; attempt++) {
      await this.#waitTurn?.(signal);
      try {
        const deadline = { clock: this.#clock, timeoutMs, what: `${method} ${path}`, signal };
        return await withDeadline(deadline, async (bounded) =>
          bodyOf(await this.#measured(method, () => this.#transport.send({ ...request, signal: bounded }))),
        );
      } catch (error) {
        const delay = retryDelay(method, error, attempt);
        if (delay === undefined) throw error;
        await sleep(this.#clock, delay, signal);
      }
    }
  }

  async #patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    { subresource, ...options }: WriteOptions,
    query?: Query,
  ): Promise<T> {
    const call = write(options);
    const path = resourcePath(resource, ref, subresource);
    return resource.narrow(
      await this.request('PATCH', path, { ...call, query: { ...call.query, ...query }, body, contentType }),
    );
  }

  async #measured(method: Method, send: () => Promise<TransportResponse>): Promise<TransportResponse> {
    const start = this.#clock.now();
    let code = '<error>';
    try {
      const response = await send();
      code = String(response.status);
      return response;
    } finally {
      this.#metrics?.requestFinished(method, code, (this.#clock.now() - start) / 1000);
    }
  }
}

interface RawCall extends CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

const JSON_TYPE = 'application/json';
const HEADERS = { 'User-Agent': 'envoy-initializer' };

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches */
function acceptOf(resource: Resource<KubeObject>): string {
  return resource.metadataOnly ? `${JSON_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1` : JSON_TYPE;
}

function write({ dryRun, fieldManager, signal, timeoutMs }: WriteOptions): RawCall & { query: Query } {
  return {
    signal,
    timeoutMs,
    query: { dryRun: dryRun ? 'All' : undefined, fieldManager },
  };
}

function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}
