import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import type { Lister } from './store.ts';

/**
 * Reads from an informer's cache, but never an older state than this process wrote itself: a cache lags behind a
 * write, and a reconcile that sees the state from before it would do its work again (client-go's MutationCache).
 * What the cache does not have at all is gone or yet to come, which only the API server can tell apart.
 */
export class MutationCache<T extends KubeObject> {
  readonly #cache: Pick<Lister<T>, 'get'>;
  readonly #written = new Map<ObjectKey, T>();

  constructor(cache: Pick<Lister<T>, 'get'>) {
    this.#cache = cache;
  }

  /** How many objects there are that the cache has not been seen to have. */
  get held(): number {
    return this.#written.size;
  }

  get(key: ObjectKey): T | undefined {
    const cached = this.#cache.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return cached;
    if (cached && (isNewer(written, cached) || (isGone(written) && !isNewer(cached, written))))
      return written;
    this.#written.delete(key);
    return cached;
  }

  /** Remembers what the API server answered to a write, and returns it. */
  add(object: T): T {
    const key = keyOf(object);
    this.#written.set(key, object);
    // The watch may have been sooner than the answer.
    if (this.#cache.get(key)) this.settle(key);
    return object;
  }

  /** The cache has changed: what it has by now is held here no longer, or each object would be there twice until read. */
  settle(key: ObjectKey): void {
    this.get(key);
  }
}

/** The write that lets an object go is answered with the resourceVersion from before it. */
function isGone({ metadata: { deletionTimestamp, finalizers } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && !finalizers?.length;
}

/** Resource versions of one resource are decimal numbers that grow with each write (KEP-5504), of any length. */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  const [left = '', right = ''] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return left.length === right.length ? left > right : left.length > right.length;
}
