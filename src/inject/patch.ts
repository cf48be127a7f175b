import jsonpatch from 'fast-json-patch';
import { isArray, isObject, type JsonValue, own } from './json.ts';
import { formatPath, type Path, pointer } from './path.ts';
import type { Pod } from './pod.ts';

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
  readonly #copies = new WeakSet<object>();
  #pod: Pod;

  constructor(pod: Pod) {
    this.#pod = pod;
  }

  /** The pod with all changes so far. */
  get pod(): Pod {
    return this.#pod;
  }

  get operations(): readonly PatchOperation[] {
    return this.#operations;
  }

  /** Adds an item to a list, at its end or before an index; a missing or null list is made. */
  insert(list: Path, value: JsonValue, index: number | 'end' = 'end'): void {
    if (isArray(this.#at(list))) this.#apply('add', [...list, index === 'end' ? '-' : index], value);
    else this.#create(list, [value]);
  }

  /** Sets a member of an object; a missing or null object is made. */
  set(object: Path, key: string, value: JsonValue): void {
    if (isObject(this.#at(object))) this.#apply('add', [...object, key], value);
    else this.#create(object, { [key]: value });
  }

  replace(path: Path, value: JsonValue): void {
    this.#apply('replace', path, value);
  }

  remove(path: Path): void {
    this.#apply('remove', path);
  }

  #create(path: Path, value: JsonValue): void {
    if ((this.#at(path) ?? null) !== null) {
      const kind = isArray(value) ? 'list' : 'mapping';
      throw new PatchError(`the patch does not fit the pod: ${formatPath(path)} is no ${kind}`);
    }
    const parent = path.slice(0, -1);
    if (parent.length > 0 && !isObject(this.#at(parent))) this.#create(parent, {});
    this.#apply('add', path, value);
  }

  #apply(op: PatchOperation['op'], path: Path, value?: JsonValue): void {
    const text = pointer(path);
    const operation = (op === 'remove' ? { op, path: text } : { op, path: text, value }) as PatchOperation;
    this.#copyWayTo(path);
    try {
      jsonpatch.applyOperation(this.#pod, operation, true);
    } catch (err) {
      // The library's message holds the whole pod, secrets and all, and must not reach a log; its name is
      // a code such as OPERATION_PATH_UNRESOLVABLE.
      const name = err instanceof Error ? err.name : 'unknown error';
      throw new PatchError(`the patch does not fit the pod: ${op} ${text}: ${name}`);
    }
    this.#operations.push(operation);
  }

  /** Copies the objects and lists that hold the value at a path, each once, so that they may be changed. */
  #copyWayTo(path: Path): void {
    this.#pod = this.#copyOnce(this.#pod) as Pod;
    let node = this.#pod as Node;
    for (const segment of path.slice(0, -1)) {
      const child = node[segment];
      if (!isObject(child) && !isArray(child)) return;
      const copy = this.#copyOnce(child);
      node[segment] = copy;
      node = copy as Node;
    }
  }

  #copyOnce(value: JsonValue & object): JsonValue & object {
    if (this.#copies.has(value)) return value;
    const copy = isArray(value) ? [...value] : { ...value };
    this.#copies.add(copy);
    return copy;
  }

  #at(path: Path): JsonValue | undefined {
    let value: JsonValue | undefined = this.#pod;
    for (const segment of path) {
      value = typeof segment === 'number' && isArray(value) ? value[segment] : own(value, String(segment));
    }
    return value;
  }
}
