import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { MultiMap } from '../util/multi-map.ts';

/** Reads from an informer's cache. What it returns is shared: read it, never change it. */
export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[];
  /** All objects for which the named index function returned the value. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

/** The index values of an object, for example the UIDs of its owners. A pure function of the object. */
export type IndexFunction<T> = (object: T) => readonly string[];

const NAMESPACE = 'namespace';

function namespaceOf({ metadata }: KubeObject): readonly string[] {
  return [metadata.namespace ?? ''];
}

/** client-go's thread-safe store without the threads: objects by key, and by the values of index functions. */
export class Store<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indices = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.addIndexers({ [NAMESPACE]: namespaceOf, ...indexers });
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
      const index = { valuesOf, objects: new MultiMap<string, T>() };
      for (const object of this.#objects.values()) addTo(index, object, valuesOf(object));
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

  list(namespace?: string): readonly T[] {
    return namespace === undefined ? [...this.#objects.values()] : this.byIndex(NAMESPACE, namespace);
  }

  byIndex(index: string, value: string): readonly T[] {
    const objects = this.#indices.get(index)?.objects;
    if (!objects) throw new Error(`unknown index ${index}: expected one of ${[...this.#indices.keys()]}`);
    return [...objects.get(value)];
  }

  /** Adds or replaces the object. Changes nothing if an index function throws. */
  set(object: T): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    const entries = [...this.#indices.values()].map((index) => [index, index.valuesOf(object)] as const);
    if (previous) this.#unindex(previous);
    this.#objects.set(key, object);
    for (const [index, values] of entries) addTo(index, object, values);
  }

  delete(key: ObjectKey): T | undefined {
    const previous = this.#objects.get(key);
    if (previous) this.#unindex(previous);
    this.#objects.delete(key);
    return previous;
  }

  #unindex(object: T): void {
    for (const { valuesOf, objects } of this.#indices.values()) {
      for (const value of valuesOf(object)) objects.delete(value, object);
    }
  }
}

function addTo<T>({ objects }: Index<T>, object: T, values: readonly string[]): void {
  for (const value of values) objects.add(value, object);
}

interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly objects: MultiMap<string, T>;
}
