import { type KubeObject, keyOf, type ObjectKey } from '../../../src/kube/api/object.ts';
import type { EventHandler } from '../../../src/kube/cache/informer.ts';
import { type IndexFunction, Store } from '../../../src/kube/cache/store.ts';

/** An informer whose cache a test fills; it tells its handlers at once. */
export class FakeInformer<T extends KubeObject> {
  readonly lister: Store<T>;
  readonly #handlers: EventHandler<T>[] = [];

  constructor(indexers: Readonly<Record<string, IndexFunction<T>>> = {}) {
    this.lister = new Store<T>(indexers);
  }

  readonly addEventHandler = (handler: EventHandler<T>) => {
    this.#handlers.push(handler);
  };

  set(object: T): void {
    const previous = this.lister.get(keyOf(object));
    this.lister.set(object);
    for (const handler of this.#handlers) {
      if (previous) handler.onUpdate?.(previous, object);
      else handler.onAdd?.(object);
    }
  }

  delete(key: ObjectKey): void {
    const previous = this.lister.get(key);
    this.lister.delete(key);
    if (previous) for (const handler of this.#handlers) handler.onDelete?.(previous);
  }
}
