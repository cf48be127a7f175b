import { type KubeObject, keyOf, type ObjectKey } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';

/** The part of an informer that is used here. */
type Source = Pick<Informer<KubeObject>, 'lister' | 'hasSynced' | 'addEventHandler'>;

/**
 * The Networks that a node may still need: those with a Network or a definition. An empty list may be a fault, so
 * it counts only after a watch has shown the deletion of the last object.
 */
export class NeededNetworks {
  readonly #sources: readonly Source[];
  /** The sources whose last object a watch has shown as deleted. */
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

  /** Their keys; undefined while they are unknown. */
  keys(): ReadonlySet<ObjectKey> | undefined {
    if (!this.#sources.every((source) => source.hasSynced())) return undefined;
    const keys = new Set(this.#sources.flatMap(({ lister }) => lister.list().map(keyOf)));
    return keys.size > 0 || this.#emptied.size === this.#sources.length ? keys : undefined;
  }
}
