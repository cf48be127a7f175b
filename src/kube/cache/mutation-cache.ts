import { isNewer, type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import type { Lister } from './store.ts';

/**
 * Reads from an informer's cache, but never an older state than this process wrote itself. A cache lags behind a write,
 * and a reconcile that sees an older state would do its work again (client-go's MutationCache).
 * An object missing from the cache is either deleted or not yet seen; only the API server knows.
 */
export class MutationCache<T extends KubeObject> {
  readonly #cache: Pick<Lister<T>, 'get'>;
  readonly #written = new Map<ObjectKey, T>();

  constructor(cache: Pick<Lister<T>, 'get'>) {
    this.#cache = cache;
  }

  /** The number of written objects that the cache is not known to have. */
  get held(): number {
    return this.#written.size;
  }

  get(key: ObjectKey): T | undefined {
    const cached = this.#cache.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return cached;
    if (
      cached &&
      (isNewer(written.metadata, cached.metadata) ||
        (isGone(written) && !isNewer(cached.metadata, written.metadata)))
    )
      return written;
    this.#written.delete(key);
    return cached;
  }

  /** Stores the API server's answer to a write, and returns it. */
  add(object: T): T {
    const key = keyOf(object);
    this.#written.set(key, object);
    // The watch event may have come before the answer.
    if (this.#cache.get(key)) this.settle(key);
    return object;
  }

  /** Drops the written object if the cache has it by now. Call it on each change, to not hold objects twice. */
  settle(key: ObjectKey): void {
    this.get(key);
  }
}

/** Whether the write ended the object: its answer then has the resourceVersion from before the write. */
function isGone({ metadata: { deletionTimestamp, finalizers } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && !finalizers?.length;
}
