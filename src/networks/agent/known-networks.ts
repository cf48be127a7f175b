import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Network } from '../api/types.ts';

/** The part of an informer that is used here. */
type Source = Pick<Informer<Network>, 'lister' | 'hasSynced' | 'addEventHandler'>;

/**
 * The Networks that there are. An empty list may be a fault, so it counts only after a watch has shown the deletion of
 * the last Network.
 */
export class KnownNetworks {
  readonly #source: Source;
  #isEmptied = false;

  /** Adds a handler to the informer. */
  constructor(source: Source) {
    this.#source = source;
    source.addEventHandler({
      onAdd: () => {
        this.#isEmptied = false;
      },
      onDelete: (_, isMissed) => {
        this.#isEmptied = !isMissed;
      },
    });
  }

  /** Their keys; undefined while they are unknown. */
  keys(): ReadonlySet<ObjectKey> | undefined {
    if (!this.#source.hasSynced()) return undefined;
    const keys = new Set(this.#source.lister.list().map(keyOf));
    return keys.size > 0 || this.#isEmptied ? keys : undefined;
  }
}
