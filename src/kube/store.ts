import { type KubeObject, keyOf, type ObjectKey } from './object.ts';

/** Reads from an informer's cache. What it returns is shared: read it, never change it. */
export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  /** All objects for which the named index function returned the value. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

/** The values under which an object is found, for example the UIDs of its owners. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** client-go's thread-safe store without the threads: objects by key, and by the values of index functions. */
export class Store<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indexers: ReadonlyMap<string, IndexFunction<T>>;
  /** index name → value → keys */
  readonly #indices = new Map<string, Map<string, Set<ObjectKey>>>();

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.#indexers = new Map(Object.entries(indexers));
    for (const name of this.#indexers.keys()) this.#indices.set(name, new Map());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  keys(): readonly ObjectKey[] {
    return [...this.#objects.keys()];
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  byIndex(index: string, value: string): readonly T[] {
    const values = this.#indices.get(index);
    if (!values) throw new Error(`there is no index ${index}: expected one of ${[...this.#indices.keys()]}`);
    return [...(values.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Adds or replaces the object; returns what was there. */
  set(object: T): T | undefined {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous) this.#unindex(key, previous);
    this.#objects.set(key, object);
    for (const [name, valuesOf] of this.#indexers) {
      for (const value of valuesOf(object)) this.#keysUnder(name, value).add(key);
    }
    return previous;
  }

  /** Returns what was there. */
  delete(key: ObjectKey): T | undefined {
    const previous = this.#objects.get(key);
    if (previous) this.#unindex(key, previous);
    this.#objects.delete(key);
    return previous;
  }

  #keysUnder(name: string, value: string): Set<ObjectKey> {
    const values = this.#indices.get(name) ?? new Map<string, Set<ObjectKey>>();
    const keys = values.get(value) ?? new Set<ObjectKey>();
    values.set(value, keys);
    return keys;
  }

  #unindex(key: ObjectKey, object: T): void {
    for (const [name, valuesOf] of this.#indexers) {
      const values = this.#indices.get(name);
      for (const value of valuesOf(object)) {
        const keys = values?.get(value);
        keys?.delete(key);
        if (keys?.size === 0) values?.delete(value);
      }
    }
  }
}
