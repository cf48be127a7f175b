import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { Result } from '../../kube/controller/controller.ts';
import { formatInText, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import {
  changedTemplates,
  parseTemplateConfigMap,
  type TemplateSet,
  type TemplateState,
} from '../template/template-set.ts';
import { type DryRunResult, proofWarnings, type TemplateDryRun } from './template-dry-run.ts';

/** The data of the ConfigMap with the templates. */
type TemplateTexts = Readonly<Record<string, string>>;

export interface LiveTemplatesOptions {
  /** The namespace and name of the ConfigMap, for messages. */
  readonly configMap: string;
  /** The current ConfigMap; undefined if it does not exist. */
  readonly current: () => Pick<ConfigMap, 'data'> | undefined;
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** Called on every change: for Events, logs and metrics. */
  readonly observer: {
    /** Pods get these templates now: new ones, or the same ones again after a fault. */
    adopted(set: TemplateSet, generation: number): void;
    /** The same templates reach running pods in another way now. */
    strategyChanged(): void;
    /** The templates are invalid; `staying` are the last valid ones, if any. */
    rejected(faults: readonly TextDiagnostic[], staying: TemplateSet | undefined): void;
    /** The warnings of the proof. */
    warned(warnings: readonly string[]): void;
  };
}

/** Templates that pods get, with the data of their ConfigMap. */
interface Adopted {
  readonly set: TemplateSet;
  readonly texts: TemplateTexts;
}

/** Longest proof. A new ConfigMap waits for the proof of the previous one. */
const PROOF_MS = 10_000;
/** The time from the first proof that failed to the next one, which doubles each time, and the longest. */
const [RETRY_MS, MOST_RETRY_MS] = [2_000, 300_000];

/**
 * The current templates: the last valid ones of the ConfigMap. Proves each version of it, and adopts it unless the API server
 * refuses it. Pods get the last templates meanwhile. Templates that could not be proved are adopted, and proved again later. So
 * are those that the API server refuses: it may be upgraded to a version that accepts them, and others of its replicas may
 * accept them already.
 */
export class LiveTemplates {
  readonly #options: LiveTemplatesOptions;
  #inUse: Adopted | undefined;
  /** The last ones that the API server has accepted. */
  #proved: Adopted | undefined;
  /** What is wrong with the current ConfigMap; undefined before the first verdict. */
  #faults: readonly TextDiagnostic[] | undefined;
  #warnings: readonly string[] = [];
  #generation = 0;
  /** Proofs of the current ConfigMap that failed, or ended in a refusal. */
  #failures = 0;

  constructor(options: LiveTemplatesOptions) {
    this.#options = options;
  }

  /** The templates to inject; the faults if there has never been a valid one. */
  get state(): TemplateState {
    return this.#inUse ? { set: this.#inUse.set } : { fault: this.#said().join('; ') };
  }

  /** The data of the ConfigMap with the templates in use; undefined if there has never been a valid one. */
  get texts(): TemplateTexts | undefined {
    return this.#inUse?.texts;
  }

  /** Whether no ConfigMap waits for the first verdict. */
  get isSettled(): boolean {
    return this.#faults !== undefined || this.#options.current() === undefined;
  }

  /** The next reconcile proves a new ConfigMap, or the same one to another API server: earlier failures do not count. */
  changed(): void {
    this.#failures = 0;
  }

  /** Proves the current ConfigMap. */
  async reconcile(signal: AbortSignal): Promise<Result> {
    const { configMap: name, current, dryRun, observer } = this.#options;
    const configMap = current();
    const texts = configMap?.data ?? {};
    const missing = `ConfigMap ${name} does not exist: create it with the key config`;
    const read = configMap ? parseTemplateConfigMap(texts) : { faults: [textError('', missing)] };
    if ('faults' in read) {
      this.#reject(read.faults);
      return {};
    }
    const proof = await dryRun.prove(read.set, PROOF_MS, signal);
    // A newer ConfigMap is in the queue.
    if (configMap !== current()) return {};
    this.#judge(proof, texts);
    const warnings = proofWarnings(proof);
    if (warnings.length > 0 && warnings.join('\n') !== this.#warnings.join('\n')) observer.warned(warnings);
    this.#warnings = warnings;
    if (proof.faults.length + proof.inconclusive.length === 0) return {};
    return { requeueAfterMs: Math.min(RETRY_MS * 2 ** this.#failures++, MOST_RETRY_MS) };
  }

  #judge({ set, faults, inconclusive }: DryRunResult, texts: TemplateTexts): void {
    if (faults.length > 0) {
      // They were adopted before they could be proved.
      if (this.#inUse?.set.hash === set.hash) this.#inUse = this.#proved;
      this.#reject(faults);
      return;
    }
    const { observer } = this.#options;
    const current = this.#inUse?.set;
    const isChanged = !current || changedTemplates(current, set)?.size !== 0;
    const isRecovered = this.#faults?.length !== 0;
    this.#faults = [];
    this.#inUse = { set, texts };
    if (inconclusive.length === 0) this.#proved = this.#inUse;
    if (isChanged) this.#generation += 1;
    if (isChanged || isRecovered) observer.adopted(set, this.#generation);
    else if (JSON.stringify(current?.rollout) !== JSON.stringify(set.rollout)) observer.strategyChanged();
  }

  #reject(faults: readonly TextDiagnostic[]): void {
    const before = this.#said().join('\n');
    this.#faults = faults;
    // A resync delivers the same ConfigMap again, which needs no second Event.
    if (before !== this.#said().join('\n')) this.#options.observer.rejected(faults, this.#inUse?.set);
  }

  #said(): readonly string[] {
    const unread = `ConfigMap ${this.#options.configMap} has not been read yet`;
    return this.#faults?.map(formatInText) ?? [unread];
  }
}
