import { maxTimerMs } from '../../kube/workqueue/clock.ts';
import { Trigger } from '../../kube/workqueue/trigger.ts';
import type { LiveTemplates, TemplateConfigMap } from './live-templates.ts';
import { proofWarnings, type TemplateDryRun } from './template-dry-run.ts';

export interface TemplateAdoptionOptions {
  readonly templates: Pick<LiveTemplates, 'read' | 'update' | 'decide'>;
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** Called when the warnings of the proof change. */
  readonly warned: (warnings: readonly string[]) => void;
  /** The time from the first proof that failed to the next one, in milliseconds. It doubles each time. */
  readonly retryMs?: number;
}

/** Longest proof. A new ConfigMap waits for the proof of the previous one. */
const PROOF_MS = 10_000;
const [RETRY_MS, MOST_RETRY_MS] = [2_000, 300_000];

/**
 * Proves each version of the ConfigMap, and adopts it unless the API server refuses it. Pods get the last templates meanwhile.
 * Templates that could not be proved are adopted, and proved again later. So are those that the API server refuses: it may
 * be upgraded to a version that accepts them, and others of its replicas may accept them already.
 */
export class TemplateAdoption {
  readonly #options: TemplateAdoptionOptions;
  readonly #changed = new Trigger();
  #latest: TemplateConfigMap | undefined;
  #state: 'none' | 'waiting' | 'settled' = 'none';
  #warnings: readonly string[] = [];
  /** Proofs of the current ConfigMap that failed, or ended in a refusal. */
  #failures = 0;

  constructor(options: TemplateAdoptionOptions) {
    this.#options = options;
  }

  /** Whether no ConfigMap waits for the first verdict. */
  get isSettled(): boolean {
    return this.#state !== 'waiting';
  }

  /** Takes the current ConfigMap; undefined if it does not exist any more. */
  seen(configMap: TemplateConfigMap | undefined): void {
    this.#latest = configMap;
    if (this.#state === 'none') this.#state = 'waiting';
    this.again();
  }

  /** Proves the current ConfigMap again. */
  again(): void {
    this.#failures = 0;
    this.#changed.fire();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = this.#state === 'none' ? maxTimerMs : await this.#settle(signal);
      await this.#changed.next(wait, signal);
    }
  }

  /** Returns the time until it must be called again. */
  async #settle(signal: AbortSignal): Promise<number> {
    const { templates, dryRun, retryMs = RETRY_MS } = this.#options;
    const configMap = this.#latest;
    const read = templates.read(configMap);
    if ('faults' in read) {
      templates.update(configMap);
      this.#state = 'settled';
      return maxTimerMs;
    }
    const texts = configMap?.data ?? {};
    const proof = await dryRun.prove(read.set, texts, PROOF_MS, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    // A newer ConfigMap has fired the trigger.
    if (!proof || configMap !== this.#latest) return 0;
    templates.decide(proof, texts);
    this.#state = 'settled';
    this.#warn(proofWarnings(proof));
    if (proof.faults.length + proof.inconclusive.length === 0) return maxTimerMs;
    return Math.min(retryMs * 2 ** this.#failures++, MOST_RETRY_MS);
  }

  #warn(warnings: readonly string[]): void {
    const isNew = warnings.length > 0 && warnings.join('\n') !== this.#warnings.join('\n');
    this.#warnings = warnings;
    if (isNew) this.#options.warned(warnings);
  }
}
