import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';

/** Reads from an informer's cache. What it returns is shared: read it, never change it. */
export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  /** All objects for which the named index function returned the value. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

/** The index values of an object, for example the UIDs of its owners. A pure function of the object. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** client-go's thread-safe store without the threads: objects by key, and by the values of index functions. */
export class Store<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indices = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.addIndexers(indexers);
  }

  /**
   * Adds indices, which include the stored objects.
   * @throws Error if another function has the name.
   */
  addIndexers(indexers: Readonly<Record<string, IndexFunction<T>>>): void {
    for (const [name, valuesOf] of Object.entries(indexers)) {
      const known = this.#indices.get(name);
      if (known?.valuesOf === valuesOf) continue;
      if (known) throw new Error(`another index is named ${name}: use a unique name`);
      const index = { valuesOf, keys: new Map<string, Set<ObjectKey>>() };
      for (const [key, object] of this.#objects) addTo(index, key, valuesOf(object));
      this.#indices.set(name, index);
    }
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
    const keys = this.#indices.get(index)?.keys;
    if (!keys) throw new Error(`unknown index ${index}: expected one of ${[...this.#indices.keys()]}`);
    return [...(keys.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Adds or replaces the object, and returns the previous one. Changes nothing if an index function throws. */
  set(object: T): T | undefined {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    const entries = [...this.#indices.values()].map((index) => [index, index.valuesOf(object)] as const);
    if (previous) this.#unindex(key, previous);
    this.#objects.set(key, object);
    for (const [index, values] of entries) addTo(index, key, values);
    return previous;
  }

  /** Deletes the object, and returns it. */
  delete(key: ObjectKey): T | undefined {
    const previous = this.#objects.get(key);
    if (previous) this.#unindex(key, previous);
    this.#objects.delete(key);
    return previous;
  }

  #unindex(key: ObjectKey, object: T): void {
    for (const { valuesOf, keys } of this.#indices.values()) {
      for (const value of valuesOf(object)) {
        const under = keys.get(value);
        under?.delete(key);
        if (under?.size === 0) keys.delete(value);
      }
    }
  }
}

function addTo({ keys }: Pick<Index<never>, 'keys'>, key: ObjectKey, values: readonly string[]): void {
  for (const value of values) keys.set(value, (keys.get(value) ?? new Set<ObjectKey>()).add(key));
}

interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  /** The keys of the objects by index value. */
  readonly keys: Map<string, Set<ObjectKey>>;
}
