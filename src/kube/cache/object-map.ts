import type { ObjectKey, ObjectMeta } from '../api/object.ts';

/**
 * Values by the key of an object, in a map for each namespace. A key takes no memory of its own: the name is that of
 * the object.
 */
export class ObjectMap<V> {
  /** By namespace, empty for cluster-scoped objects, and by name. */
  readonly #values = new Map<string, Map<string, V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: ObjectKey): V | undefined {
    const [namespace, name] = partsOf(key);
    return this.#values.get(namespace)?.get(name);
  }

  set({ namespace = '', name }: ObjectMeta, value: V): void {
    const inNamespace = this.#values.get(namespace) ?? new Map<string, V>();
    this.#values.set(namespace, inNamespace);
    // A map keeps the first of equal keys, which is the name of an older object.
    if (!inNamespace.delete(name)) this.#size++;
    inNamespace.set(name, value);
  }

  delete(key: ObjectKey): void {
    const [namespace, name] = partsOf(key);
    const inNamespace = this.#values.get(namespace);
    if (!inNamespace?.delete(name)) return;
    this.#size--;
    if (inNamespace.size === 0) this.#values.delete(namespace);
  }

  clear(): void {
    this.#values.clear();
    this.#size = 0;
  }

  keys(): readonly ObjectKey[] {
    return Array.from(this.#values, ([namespace, inNamespace]) =>
      Array.from(inNamespace.keys(), (name) => (namespace ? `${namespace}/${name}` : name)),
    ).flat();
  }

  /** All values, or those of one namespace. */
  values(namespace?: string): readonly V[] {
    if (namespace !== undefined) return [...(this.#values.get(namespace)?.values() ?? [])];
    return Array.from(this.#values.values(), (inNamespace) => [...inNamespace.values()]).flat();
  }
}

function partsOf(key: ObjectKey): readonly [namespace: string, name: string] {
  const slash = key.indexOf('/');
  return [key.slice(0, Math.max(0, slash)), key.slice(slash + 1)];
}
