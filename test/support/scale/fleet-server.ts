import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import jsonpatch, { type Operation } from 'fast-json-patch';
import { isRecord } from '../../../src/util/json.ts';

/** An object as it is on the wire. */
export type Item = Readonly<Record<string, unknown>>;

/** Plurals by group and version; no two groups have the same one. */
export type Resources = Readonly<Record<string, readonly string[]>>;

/** Objects that are made when they are read: many of them take no memory here. */
export interface Made {
  readonly count: number;
  readonly make: (index: number) => Item;
  /** The index of the object with a name, so that a GET does not make all of them. */
  readonly indexOf: (name: string) => number;
}

interface Watcher {
  readonly response: ServerResponse;
  readonly selects: (item: Item) => boolean;
  readonly metadataOnly: boolean;
}

/** The objects of one resource. */
class Collection {
  readonly made: Made[] = [];
  readonly stored = new Map<string, Item>();
  readonly watchers = new Set<Watcher>();

  get(key: string): Item | undefined {
    const name = key.slice(key.indexOf('/') + 1);
    for (const { count, make, indexOf } of this.made) {
      const index = indexOf(name);
      if (!(index >= 0 && index < count)) continue;
      const item = make(index);
      if (keyOf(item) === key) return item;
    }
    return this.stored.get(key);
  }

  *items(selects: (item: Item) => boolean): Generator<Item> {
    for (const { count, make } of this.made) {
      for (let index = 0; index < count; index++) {
        const item = make(index);
        if (selects(item)) yield item;
      }
    }
    for (const item of this.stored.values()) if (selects(item)) yield item;
  }
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What a request's path names. */
interface Target {
  readonly plural: string;
  readonly collection: Collection | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly isSubresource: boolean;
}

/** Sent at once to a watch. */
const CHUNK = 64 * 1024;
const REVIEWS = new Set(['selfsubjectaccessreviews', 'tokenreviews']);

/**
 * An API server without etcd, which keeps up with an operator on one core: lists, watches and writes, without rules,
 * admission or history. It counts the writes, so that a test sees whether the operator is done.
 */
export class FleetServer {
  readonly #server: Server;
  readonly #resources: Resources;
  readonly #collections = new Map<string, Collection>();
  #version = 1;
  /** What a list in pages shows, until its last page. */
  readonly #listed = new Map<string, readonly Item[]>();
  #writes = 0;

  private constructor(resources: Resources) {
    this.#resources = resources;
    for (const plural of Object.values(resources).flat()) this.#collections.set(plural, new Collection());
    this.#server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => fail(response, 500, `${error}`));
    });
  }

  static async start(resources: Resources): Promise<FleetServer> {
    const server = new FleetServer(resources);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Writes of objects so far; Events and dry runs do not count. */
  get writes(): number {
    return this.#writes;
  }

  /** Adds objects that are made when they are read, before anything watches them. */
  fill(plural: string, made: Made): void {
    this.#collection(plural).made.push(made);
  }

  /** Stores an object and sends it to the watches. */
  put(plural: string, item: Item): Item {
    const collection = this.#collection(plural);
    const key = keyOf(item);
    const before = collection.stored.get(key);
    const kept = this.#complete(item, before);
    collection.stored.set(key, kept);
    this.#send(collection, before ? 'MODIFIED' : 'ADDED', kept);
    return kept;
  }

  /** Sends the state of an object that is not stored, or is made, to the watches. */
  event(plural: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', item: Item): void {
    const metadata = { ...metadataOf(item), resourceVersion: `${++this.#version}` };
    this.#send(this.#collection(plural), type, { ...item, metadata });
  }

  stored(plural: string): readonly Item[] {
    return [...this.#collection(plural).stored.values()];
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #collection(plural: string): Collection {
    const collection = this.#collections.get(plural);
    if (!collection) throw new Error(`expected one of ${[...this.#collections.keys()]}, got ${plural}`);
    return collection;
  }

  #complete(item: Item, before: Item | undefined): Item {
    const resourceVersion = `${++this.#version}`;
    const was = before ? metadataOf(before) : { generation: 1, creationTimestamp: '2026-11-01T00:00:00Z' };
    return { ...item, metadata: { uid: `uid-${keyOf(item)}`, ...was, ...metadataOf(item), resourceVersion } };
  }

  #send(collection: Collection, type: string, item: Item): void {
    for (const { response, selects, metadataOnly } of collection.watchers) {
      if (selects(item)) response.write(`${JSON.stringify({ type, object: shown(item, metadataOnly) })}\n`);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://host');
    if (url.pathname === '/version') return send(response, { gitVersion: 'v1.36.3' });
    const version = /^\/apis\/([^/]+\/[^/]+)$/.exec(url.pathname)?.[1];
    if (version !== undefined) {
      return send(response, { resources: (this.#resources[version] ?? []).map((name) => ({ name })) });
    }
    const target = this.#target(url.pathname);
    if (request.method === 'GET') return await this.#read(request, response, url.searchParams, target);
    const body: unknown = JSON.parse((await text(request)) || '{}');
    if (Array.isArray(body)) return this.#patch(response, target, body);
    if (!isRecord(body)) return fail(response, 400, 'expected an object');
    if (REVIEWS.has(target.plural)) return send(response, { ...body, status: { allowed: true } });
    if (!target.collection) return fail(response, 404, `no resource ${target.plural}`);
    if (url.searchParams.get('dryRun')) return send(response, body, 201);
    const answer = this.#write(request, target.collection, target, body);
    send(response, answer.body, answer.status);
  }

  #target(path: string): Target {
    const parts = path.split('/').filter(Boolean);
    const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
    const isInside = rest[0] === 'namespaces' && rest.length > 2;
    const [plural = '', name, subresource] = isInside ? rest.slice(2) : rest;
    const collection = this.#collections.get(plural);
    const namespace = isInside ? rest[1] : undefined;
    return { plural, collection, namespace, name, isSubresource: subresource !== undefined };
  }

  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
    { plural, collection, namespace, name }: Target,
  ): Promise<void> {
    if (!collection) return fail(response, 404, `no resource ${plural}`);
    const metadataOnly = request.headers.accept?.includes('as=PartialObjectMetadata') ?? false;
    if (name !== undefined) {
      const key = [namespace, name].filter(Boolean).join('/');
      const found = collection.get(key);
      return found ? send(response, shown(found, metadataOnly)) : fail(response, 404, `${name} not found`);
    }
    const selects = selectorOf(query, namespace);
    const version = `${this.#version}`;
    if (query.get('watch') !== 'true') {
      response.writeHead(200, { 'content-type': 'application/json' });
      const from = Number(query.get('continue') ?? 0);
      const to = from + Number(query.get('limit') ?? Number.POSITIVE_INFINITY);
      const selection = [plural, namespace, query.get('labelSelector'), query.get('fieldSelector')].join();
      const all = this.#listed.get(selection) ?? [...collection.items(selects)];
      const isLast = to >= all.length;
      if (isLast) this.#listed.delete(selection);
      else this.#listed.set(selection, all);
      const token = isLast ? '' : `,"continue":"${to}"`;
      response.write(
        `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"${version}"${token}},"items":[`,
      );
      await writeAll(response, listed(all.slice(from, to), metadataOnly));
      response.end(']}');
      return;
    }
    const watcher = { response, selects, metadataOnly };
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    response.on('close', () => collection.watchers.delete(watcher));
    collection.watchers.add(watcher);
  }

  /** Applies a JSON patch without its tests: nobody else writes here. */
  #patch(
    response: ServerResponse,
    { plural, collection, namespace, name }: Target,
    patch: Operation[],
  ): void {
    const before = collection?.get([namespace, name].filter(Boolean).join('/'));
    this.#writes++;
    const changes = patch.filter(({ op }) => op !== 'test');
    if (!before) fail(response, 404, `${name} not found`);
    else send(response, this.put(plural, jsonpatch.applyPatch(before, changes, false, false).newDocument));
  }

  #write(
    { method, headers }: IncomingMessage,
    collection: Collection,
    { plural, namespace, name, isSubresource }: Target,
    body: Item,
  ): Answer {
    if (plural === 'events') return { status: 201, body };
    this.#writes++;
    const key = [namespace, name ?? metadataOf(body).name].filter(Boolean).join('/');
    const before = collection.stored.get(key);
    if (method === 'DELETE') {
      if (before) this.#send(collection, 'DELETED', before);
      collection.stored.delete(key);
      return { status: 200, body: {} };
    }
    if (method === 'POST' && before) return refusal(409, `${key} already exists`, 'AlreadyExists');
    const isApply = headers['content-type']?.includes('apply') ?? false;
    if (method === 'PATCH' && !before && !isApply) return refusal(404, `${key} not found`);
    const metadata = { ...metadataOf(body), ...(namespace !== undefined && { namespace }) };
    const given = { ...body, metadata };
    // A write of the status says nothing about the rest.
    const item = method === 'PATCH' || isSubresource ? merged(before ?? {}, given) : given;
    return { status: before ? 200 : 201, body: this.put(plural, item as Item) };
  }
}

function metadataOf({ metadata }: Item): Readonly<Record<string, unknown>> {
  return isRecord(metadata) ? metadata : {};
}

function keyOf(item: Item): string {
  const { namespace, name } = metadataOf(item);
  return [namespace, name].filter(Boolean).join('/');
}

function shown(item: Item, metadataOnly: boolean): Item {
  if (!metadataOnly) return item;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: item.metadata };
}

/** A JSON merge patch. Lists are replaced. */
function merged(before: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(before) ? { ...before } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/** A name, and labels that exist or have a value: no other selector is known. */
function selectorOf(query: URLSearchParams, namespace: string | undefined): (item: Item) => boolean {
  const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
  const labels = (query.get('labelSelector') ?? '').split(',').filter(Boolean);
  return (item) => {
    const metadata = metadataOf(item);
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    if (name !== undefined && metadata.name !== name) return false;
    const own = isRecord(metadata.labels) ? metadata.labels : {};
    return labels.every((each) => {
      const [key = '', value] = each.split('=');
      return value === undefined ? key in own : own[key] === value;
    });
  };
}

function* listed(items: Iterable<Item>, metadataOnly: boolean): Generator<string> {
  let separator = '';
  for (const item of items) {
    yield separator + JSON.stringify(shown(item, metadataOnly));
    separator = ',';
  }
}

/** Writes no faster than the client reads. */
async function writeAll(response: ServerResponse, texts: Iterable<string>): Promise<void> {
  let chunk = '';
  for (const each of texts) {
    chunk += each;
    if (chunk.length < CHUNK) continue;
    const isTaken = response.write(chunk);
    chunk = '';
    if (!isTaken && !response.destroyed) await taken(response);
  }
  response.write(chunk);
}

/** Resolves when the client has read what was written, or is gone. */
function taken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function fail(response: ServerResponse, code: number, message: string): void {
  const { status, body } = refusal(code, message);
  send(response, body, status);
}

function refusal(code: number, message: string, reason = 'NotFound'): Answer {
  return {
    status: code,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message, reason },
  };
}
