import { type KubeObject, keyOf, type ObjectKey } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';

/** Of an informer, what is asked here. */
type Source = Pick<Informer<KubeObject>, 'lister' | 'hasSynced' | 'addEventHandler'>;

/**
 * Which Networks a node may still need: those of which there is a Network or a definition. That none is needed is
 * believed only where the last one was seen to go: an empty list alone may be a fault, and removes nothing.
 */
export class NeededNetworks {
  readonly #sources: readonly Source[];
  /** The sources whose last object was seen to go, by a watch. */
  readonly #emptied = new Set<Source>();

  /** Adds a handler to each informer. */
  constructor(sources: readonly Source[]) {
    this.#sources = sources;
    for (const source of sources) {
      source.addEventHandler({
        onAdd: () => {
          this.#emptied.delete(source);
        },
        onDelete: (_, isMissed) => {
          if (isMissed) this.#emptied.delete(source);
          else this.#emptied.add(source);
        },
      });
    }
  }

  /** Their keys; undefined while that is not known. */
  keys(): ReadonlySet<ObjectKey> | undefined {
    if (!this.#sources.every((source) => source.hasSynced())) return undefined;
    const keys = new Set(this.#sources.flatMap(({ lister }) => lister.list().map(keyOf)));
    return keys.size > 0 || this.#emptied.size === this.#sources.length ? keys : undefined;
  }
}
