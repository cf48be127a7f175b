import type { ObjectKey } from '../kube/api/object.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Host } from './host.ts';
import { leftoversOf } from './leftovers.ts';

export interface SweeperOptions {
  readonly host: Pick<Host, 'state' | 'remove'>;
  /** The keys of all Networks that the node may need; undefined while that is not known. */
  readonly needed: () => ReadonlySet<ObjectKey> | undefined;
  readonly onRemoved?: () => void;
  readonly log: Logger;
}

/** Removes from a node what is left of networks that are gone: no CNI plugin does. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #seen: ReadonlySet<string> = new Set();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /**
   * One round. What was found in the round before, too, is removed: a bridge may be a moment old, of a network that the
   * cache does not show yet. What cannot be removed is logged, and tried again in the next round.
   */
  async sweep(): Promise<void> {
    const { host, log } = this.#options;
    const state = await host.state();
    const needed = this.#options.needed();
    const leftovers = needed ? leftoversOf(state, needed) : [];
    const seenBefore = this.#seen;
    this.#seen = new Set(leftovers.map(({ bridge }) => bridge));
    for (const leftover of leftovers.filter(({ bridge }) => seenBefore.has(bridge))) {
      try {
        await host.remove(leftover);
        log.info({ ...leftover }, 'removed what was left of a network');
        this.#options.onRemoved?.();
      } catch (err) {
        log.error({ ...leftover, err }, 'what is left of a network cannot be removed');
      }
    }
  }
}
