import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { Logger } from '../../kube/util/log.ts';
import { maxTimerMs } from '../../kube/workqueue/clock.ts';
import { Trigger } from '../../kube/workqueue/trigger.ts';
import type { Revision } from './core/revision.ts';
import type { RevisionHistory } from './revision-history.ts';

/** Asks the API server which pods it would refuse with templates. */
export interface Prover {
  prove(
    set: TemplateSet,
    texts: Readonly<Record<string, string>>,
    ms: number,
    signal: AbortSignal,
  ): Promise<{
    readonly set: TemplateSet;
    /** Why templates could not be proved, if so. */
    readonly inconclusive: readonly string[];
  }>;
}

export interface PromotedProofsOptions {
  readonly history: Pick<RevisionHistory, 'current' | 'objectOf'>;
  readonly dryRun: Prover;
  readonly log: Logger;
  /** The templates are proved: `setOf` has another answer now. */
  onProved(): void;
  /** The time from the first proof that failed to the next one, in milliseconds. It doubles each time. */
  readonly retryMs?: number;
}

const [PROOF_MS, RETRY_MS, MOST_RETRY_MS] = [10_000, 2_000, 300_000];

/**
 * Proves the promoted templates while a rollout to others runs, on every replica: each must know which pods the API
 * server would refuse with them.
 */
export class PromotedProofs {
  readonly #options: PromotedProofsOptions;
  readonly #trigger = new Trigger();
  #proved: TemplateSet | undefined;
  /** Whether the API server has judged all of them. */
  #isSure = false;
  /** How often the API server has become another one. */
  #servers = 0;

  constructor(options: PromotedProofsOptions) {
    this.#options = options;
  }

  /** The templates of a revision, with what the API server says about them if it was asked. */
  setOf({ set }: Revision): TemplateSet {
    return this.#proved?.hash === set.hash ? this.#proved : set;
  }

  /** Call it when the history may have changed. */
  changed(): void {
    this.#trigger.fire();
  }

  /** Proves them again: another version of the API server may see them otherwise. */
  again(): void {
    this.#isSure = false;
    this.#servers += 1;
    this.#trigger.fire();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { retryMs: firstMs = RETRY_MS } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const isDone = await this.#prove(signal).then(
        () => true,
        (err: unknown) => {
          if (!signal.aborted)
            this.#options.log.warn({ err }, 'cannot test the promoted templates, retrying');
          return false;
        },
      );
      const retryMs = Math.min(firstMs * 2 ** failures, MOST_RETRY_MS);
      failures = isDone ? 0 : failures + 1;
      await this.#trigger.next(isDone ? maxTimerMs : retryMs, signal);
    }
  }

  async #prove(signal: AbortSignal): Promise<void> {
    const { history, dryRun, onProved } = this.#options;
    const revisions = history.current();
    if (!revisions || revisions.promoted === revisions.target) return;
    const { set } = revisions.promoted;
    const isKnown = this.#proved?.hash === set.hash;
    if (isKnown && this.#isSure) return;
    const server = this.#servers;
    const texts = (history.objectOf(set.hash)?.data ?? {}) as Readonly<Record<string, string>>;
    const { set: judged, inconclusive } = await dryRun.prove(set, texts, PROOF_MS, signal);
    // The trigger has fired again.
    if (server !== this.#servers) return;
    this.#isSure = inconclusive.length === 0;
    if (this.#isSure || !isKnown) {
      this.#proved = judged;
      onProved();
    }
    if (!this.#isSure) throw new Error(inconclusive.join('; '));
  }
}
