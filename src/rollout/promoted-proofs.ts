import type { Logger } from '../kube/util/log.ts';
import { maxTimerMs } from '../kube/workqueue/clock.ts';
import { Trigger } from '../kube/workqueue/trigger.ts';
import type { TemplateSet } from '../sidecar/template/template-set.ts';
import type { Revision } from './core/revision.ts';
import type { RevisionHistory } from './revision-history.ts';

/** Asks the API server which pods it would refuse with templates. */
export interface Prover {
  prove(
    set: TemplateSet,
    texts: Readonly<Record<string, string>>,
    ms: number,
    signal: AbortSignal,
  ): Promise<{ readonly set: TemplateSet }>;
}

export interface PromotedProofsOptions {
  readonly history: Pick<RevisionHistory, 'current' | 'objectOf'>;
  readonly prover: Prover;
  readonly log: Logger;
  /** The templates are proved: `setOf` has another answer now. */
  onProved(): void;
}

const [PROOF_MS, PROOF_AGAIN_MS] = [10_000, 30_000];

/**
 * Proves the promoted templates while a rollout to others runs, on every replica: each must know which pods the API
 * server would refuse with them.
 */
export class PromotedProofs {
  readonly #options: PromotedProofsOptions;
  readonly #trigger = new Trigger();
  #proved: TemplateSet | undefined;

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

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isDone = await this.#prove(signal).then(
        () => true,
        (err: unknown) => {
          if (!signal.aborted)
            this.#options.log.warn({ err }, 'cannot prove the promoted templates, retrying');
          return false;
        },
      );
      await this.#trigger.next(isDone ? maxTimerMs : PROOF_AGAIN_MS, signal);
    }
  }

  async #prove(signal: AbortSignal): Promise<void> {
    const { history, prover, onProved } = this.#options;
    const revisions = history.current();
    if (!revisions || revisions.promoted === revisions.target) return;
    const { set } = revisions.promoted;
    if (this.#proved?.hash === set.hash) return;
    const texts = (history.objectOf(set.hash)?.data ?? {}) as Readonly<Record<string, string>>;
    this.#proved = (await prover.prove(set, texts, PROOF_MS, signal)).set;
    onProved();
  }
}
