import jsonpatch from 'fast-json-patch';
import { formatPath, type Path } from './diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from './json.ts';

/** An operation of a JSON Patch (RFC 6902), of the kinds that injection uses. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string };

/**
 * An operation that does not fit the pod. In the webhook it is a bug of this program, because the API server
 * has decoded the pod. In a file it may be a mistake of the file.
 */
export class PatchError extends Error {}

/** A path as a JSON Pointer (RFC 6901). */
export function pointer(path: Path): string {
  return path.map((segment) => `/${jsonpatch.escapePathComponent(String(segment))}`).join('');
}

type Node = Record<string | number, JsonValue>;

/**
 * A pod that is being patched. Each change is one operation, which fast-json-patch applies at once. An
 * operation that does not fit throws here; the API server would reject the pod even with failurePolicy
 * Ignore. The given pod does not change: the objects and lists on the way to a change are copied, and
 * everything else is shared.
 */
export class PodPatchBuilder {
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

  /** Adds an item to a list, at its end or before an index. Creates a missing or null list. */
  insert(list: Path, value: JsonValue, index: number | 'end' = 'end'): void {
    const current = this.#open(list);
    if (isArray(current)) this.#apply('add', current, [...list, index === 'end' ? '-' : index], value);
    else this.#create(list, current, [value]);
  }

  /** Sets a member of an object. Creates a missing or null object. */
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
      throw new PatchError(`the patch does not fit the pod: ${formatPath(path)} is not a ${kind}`);
    }
    const parent = path.slice(0, -1);
    let holder = this.#open(parent);
    if (!isObject(holder)) {
      this.#create(parent, holder, {});
      // Open a copy: the inserted value is part of its operation and must not change.
      holder = this.#open(parent);
    }
    this.#apply('add', holder, path, value);
  }

  /** `holder` is the parent of the value at the path, so that the library does not walk the path again. */
  #apply(op: PatchOperation['op'], holder: JsonValue | undefined, path: Path, value?: JsonValue): void {
    const [text, key] = [pointer(path), path.slice(-1)];
    const refused = (code: string) =>
      new PatchError(`the patch does not fit the pod: ${op} ${text}: ${code}`);
    const isHolder = typeof holder === 'object' && holder !== null;
    // The library leaves it to its validators that only `add` may name a missing value.
    if (!isHolder || (op !== 'add' && !Object.hasOwn(holder, String(key[0]))))
      throw refused('OPERATION_PATH_UNRESOLVABLE');
    try {
      // With a validator, it checks indices; its own one would walk through every value, which is JSON.
      jsonpatch.applyOperation(holder, operationOf(op, pointer(key), value), () => undefined);
    } catch (err) {
      // The library's message contains the whole pod with its secrets, and must not reach a log. Its name
      // is a code such as OPERATION_VALUE_OUT_OF_BOUNDS.
      throw refused(err instanceof Error ? err.name : 'unknown error');
    }
    this.#operations.push(operationOf(op, text, value));
  }

  /** The value at a path, if it exists. The value and its parents are copied, so that they can be changed. */
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
