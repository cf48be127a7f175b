import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import type { Revision } from './plan/revision.ts';
import type { RevisionHistory } from './revision-history.ts';

export interface PromotedProofsOptions {
  readonly history: Pick<RevisionHistory, 'current'>;
  /** Asks the API server which pods it would refuse with templates. */
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** The templates are proved: `setOf` has another answer now. */
  onProved(): void;
}

const PROOF_MS = 10_000;

/**
 * Proves the promoted templates while a rollout to others runs, on every replica: each must know which pods the API
 * server would refuse with them.
 */
export class PromotedProofs {
  readonly #options: PromotedProofsOptions;
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

  /** Proves them again: another version of the API server may see them otherwise. */
  again(): void {
    this.#isSure = false;
    this.#servers += 1;
  }

  /** Proves them if they are not proved yet; call it often. Rejects if they could not be proved. */
  async prove(signal: AbortSignal): Promise<void> {
    const { history, dryRun, onProved } = this.#options;
    const revisions = history.current();
    if (!revisions || revisions.promoted === revisions.target) return;
    const { set } = revisions.promoted;
    const isKnown = this.#proved?.hash === set.hash;
    if (isKnown && this.#isSure) return;
    const server = this.#servers;
    const { set: judged, inconclusive } = await dryRun.prove(set, PROOF_MS, signal);
    if (server !== this.#servers) return;
    this.#isSure = inconclusive.length === 0;
    if (this.#isSure || !isKnown) {
      this.#proved = judged;
      onProved();
    }
    if (!this.#isSure) throw new Error(inconclusive.join('; '));
  }
}
