import type { ObjectKey } from '../kube/api/object.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Host } from './host.ts';
import { leftoversOf } from './leftovers.ts';

export interface SweeperOptions {
  readonly host: Pick<Host, 'state' | 'remove'>;
  /** The keys of all Networks that the node may need; undefined while they are unknown. */
  readonly needed: () => ReadonlySet<ObjectKey> | undefined;
  readonly onRemoved?: () => void;
  readonly log: Logger;
}

/** Removes the leftovers of deleted Networks from a node, which CNI plugins do not remove. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #seen: ReadonlySet<string> = new Set();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /**
   * Removes the leftovers that the previous round has found, too: a new bridge may belong to a Network that the
   * cache does not have yet. Logs failures; the next round retries.
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
        log.info({ ...leftover }, 'removed leftovers of a Network');
        this.#options.onRemoved?.();
      } catch (err) {
        log.error({ ...leftover, err }, 'cannot remove leftovers of a Network');
      }
    }
  }
}
