import jsonpatch, { type Operation } from 'fast-json-patch';
import { isArray, isObject, type JsonObject, type JsonValue, own } from './json.ts';
import { formatPath, type Path, pointer } from './path.ts';

/** An operation of a JSON Patch (RFC 6902), as far as injection needs any. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string };

/**
 * An operation that does not fit the pod. The API server has decoded the pods that a webhook sees, so there
 * it is a fault of this program; in a file it may be one of who wrote it.
 */
export class PatchError extends Error {}

type Node = Record<string | number, JsonValue>;

/**
 * A pod being patched. Each change is one operation, written directly rather than found by comparing, and
 * applied at once with fast-json-patch: an operation that does not fit throws here, where the API server
 * would refuse the pod even under failurePolicy Ignore. The pod that was given stays as it is: only the
 * objects and lists on the way to a change are copied, and everything else is shared.
 */
export class PodDraft {
  readonly #operations: PatchOperation[] = [];
  readonly #copies = new Set<object>();
  #pod: JsonObject;

  constructor(pod: JsonObject) {
    this.#pod = pod;
  }

  /** The pod with all changes so far. */
  get pod(): JsonObject {
    return this.#pod;
  }

  get operations(): readonly PatchOperation[] {
    return this.#operations;
  }

  /** Adds an item to a list, at its end or before an index; a missing or null list is made. */
  insert(list: Path, value: JsonValue, index: number | 'end' = 'end'): void {
    const current = this.#open(list);
    if (isArray(current)) this.#apply('add', current, [...list, index === 'end' ? '-' : index], value);
    else this.#create(list, current, [value]);
  }

  /** Sets a member of an object; a missing or null object is made. */
  set(object: Path, key: string, value: JsonValue): void {
    const current = this.#open(object);
    if (isObject(current)) this.#apply('add', current, [...object, key], value);
    else this.#create(object, current, { [key]: value });
  }

  replace(path: Path, value: JsonValue): void {
    this.#apply('replace', this.#open(path.slice(0, -1)), path, value);
  }

  remove(path: Path): void {
    this.#apply('remove', this.#open(path.slice(0, -1)), path);
  }

  #create(path: Path, current: JsonValue | undefined, value: JsonValue): void {
    if (current !== undefined && current !== null) {
      const kind = isArray(value) ? 'list' : 'mapping';
      throw new PatchError(`the patch does not fit the pod: ${formatPath(path)} is no ${kind}`);
    }
    const parent = path.slice(0, -1);
    let holder = this.#open(parent);
    if (!isObject(holder)) {
      this.#create(parent, holder, {});
      // What was put in is a part of its operation, and must stay as it is.
      holder = this.#open(parent);
    }
    this.#apply('add', holder, path, value);
  }

  /** The holder is what the path leads to but for its last segment: the library need not go that way again. */
  #apply(op: PatchOperation['op'], holder: JsonValue | undefined, path: Path, value?: JsonValue): void {
    const text = pointer(path);
    const last = pointer(path.slice(-1));
    try {
      if (typeof holder !== 'object') throw unresolvable();
      jsonpatch.applyOperation(holder, operationOf(op, last, value), requireTarget);
    } catch (err) {
      // The library's message holds the whole pod, secrets and all, and must not reach a log; its name is
      // a code such as OPERATION_PATH_UNRESOLVABLE.
      const name = err instanceof Error ? err.name : 'unknown error';
      throw new PatchError(`the patch does not fit the pod: ${op} ${text}: ${name}`);
    }
    this.#operations.push(operationOf(op, text, value));
  }

  /** The value at a path, if it is there; copied, as is all that holds it, so that it may be changed. */
  #open(path: Path): JsonValue | undefined {
    let node: JsonValue & object = this.#copyOnce(this.#pod);
    this.#pod = node as JsonObject;
    for (const segment of path) {
      const child = isArray(node) ? node[Number(segment)] : own(node as JsonObject, String(segment));
      if (typeof child !== 'object' || child === null) return child;
      const copy = this.#copyOnce(child);
      (node as Node)[segment] = copy;
      node = copy;
    }
    return node;
  }

  #copyOnce(value: JsonValue & object): JsonValue & object {
    if (this.#copies.has(value)) return value;
    const copy = isArray(value) ? [...value] : { ...value };
    this.#copies.add(copy);
    return copy;
  }
}

function operationOf(op: PatchOperation['op'], path: string, value?: JsonValue): PatchOperation {
  return (op === 'remove' ? { op, path } : { op, path, value }) as PatchOperation;
}

/**
 * What the library leaves to the one who validates: only `add` may name what is not there. Its own
 * validator also walks through every value, and these are JSON to begin with.
 */
function requireTarget(operation: Operation, _index: number, _document: unknown, existingPath: string): void {
  if (operation.op !== 'add' && existingPath !== operation.path) {
    throw unresolvable();
  }
}

function unresolvable(): Error {
  return Object.assign(new Error(), { name: 'OPERATION_PATH_UNRESOLVABLE' });
}
