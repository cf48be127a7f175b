import { type KubeObject, keyOf, type ObjectKey } from '../../../src/kube/api/object.ts';
import type { EventHandler } from '../../../src/kube/cache/informer.ts';

/**
 * A handler that keeps its own view of all objects, made of nothing but what it is told, and writes down whatever it
 * should never have been told.
 */
export class FoldingHandler<T extends KubeObject> implements EventHandler<T> {
  readonly view = new Map<ObjectKey, T>();
  readonly violations: string[] = [];
  events = 0;
  /** Highest resourceVersion seen of each life of an object. */
  readonly #newest = new Map<string, bigint>();
  readonly #throwsEvery: number;

  /** With `throwsEvery`, each so manieth call throws, after it was noted. */
  constructor({ throwsEvery = Number.POSITIVE_INFINITY }: { readonly throwsEvery?: number } = {}) {
    this.#throwsEvery = throwsEvery;
  }

  onAdd(object: T): void {
    const key = keyOf(object);
    if (this.view.has(key)) this.#violation('added twice', object);
    this.#note(object);
    this.view.set(key, object);
    this.#mayThrow();
  }

  onUpdate(previous: T, current: T): void {
    const key = keyOf(current);
    if (this.view.get(key) !== previous)
      this.#violation('updated from another state than it was in', current);
    if (previous.metadata.uid !== current.metadata.uid)
      this.#violation('updated into another object', current);
    this.#note(current, previous === current);
    this.view.set(key, current);
    this.#mayThrow();
  }

  onDelete(object: T): void {
    const key = keyOf(object);
    const known = this.view.get(key);
    if (!known) this.#violation('deleted without having been there', object);
    else if (known.metadata.uid !== object.metadata.uid) this.#violation('another one was deleted', object);
    this.#note(object, known === object);
    this.view.delete(key);
    this.#mayThrow();
  }

  /** An object may be told of again only where nothing can have changed. */
  #note(object: T, again = false): void {
    this.events++;
    const { uid = '' } = object.metadata;
    if (uid === '') this.#violation('never was', object);
    const version = BigInt(object.metadata.resourceVersion ?? 0);
    const newest = this.#newest.get(uid) ?? -1n;
    if (version < newest || (version === newest && !again))
      this.#violation(`stale: newer than ${newest} was`, object);
    this.#newest.set(uid, version > newest ? version : newest);
  }

  #mayThrow(): void {
    if (this.events % this.#throwsEvery === 0) throw new Error('thrown by a handler, as planned');
  }

  #violation(what: string, { metadata }: T): void {
    this.violations.push(`${metadata.name} ${what} (${metadata.uid}, ${metadata.resourceVersion})`);
  }
}
