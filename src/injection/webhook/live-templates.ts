import { formatInText, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { parseTemplateSet, type TemplateSet, type TemplateState } from '../template/template-set.ts';
import type { DryRunResult, TemplateTexts } from './template-dry-run.ts';

/** The ConfigMap with the templates: the fields that are read here. */
export interface TemplateConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Called on every change: for Events, logs and metrics. */
interface TemplateObserver {
  /** Pods get these templates now: new ones, or the same ones again after a fault. */
  adopted(set: TemplateSet, generation: number): void;
  /** The same templates reach running pods in another way now. */
  strategyChanged?(): void;
  /** The templates are invalid; `staying` are the last valid ones, if any. */
  rejected(faults: readonly TextDiagnostic[], staying: TemplateSet | undefined): void;
}

/** Templates that pods get, with the data of their ConfigMap. */
interface Adopted {
  readonly set: TemplateSet;
  readonly texts: TemplateTexts;
}

/** The current templates: the last valid ones of the ConfigMap. */
export class LiveTemplates {
  readonly #observer: TemplateObserver;
  readonly #configMap: string;
  #inUse: Adopted | undefined;
  /** The last ones that the API server has accepted. */
  #proved: Adopted | undefined;
  #faults: readonly TextDiagnostic[];
  #generation = 0;

  /** `configMap`: its namespace and name, for messages. */
  constructor(observer: TemplateObserver, configMap: string) {
    this.#observer = observer;
    this.#configMap = configMap;
    this.#faults = [missing(`ConfigMap ${configMap} is not read yet`)];
  }

  /** The templates to inject; the faults if there has never been a valid one. */
  get state(): TemplateState {
    return this.#inUse ? { set: this.#inUse.set } : { fault: this.#faults.map(formatInText).join('; ') };
  }

  /** The data of the ConfigMap with the templates in use; undefined if there has never been a valid one. */
  get texts(): TemplateTexts | undefined {
    return this.#inUse?.texts;
  }

  /** For /debug/template. The templates are no secret: any pod may ask for them, and then contains them. */
  debug(): unknown {
    const faults = this.#faults.map(formatInText);
    return { hash: this.#inUse?.set.hash, generation: this.#generation, faults, data: this.#inUse?.texts };
  }

  /** The faults of the ConfigMap's current content; empty if it is in use. */
  get faults(): readonly TextDiagnostic[] {
    return this.#faults;
  }

  /** How often this process has adopted templates. */
  get generation(): number {
    return this.#generation;
  }

  /** The templates of a ConfigMap, or what is wrong with it; undefined if it does not exist. */
  read(configMap: TemplateConfigMap | undefined): ReturnType<typeof parseTemplateSet> {
    if (configMap) return parseTemplateSet(configMap.data ?? {});
    return {
      faults: [missing(`ConfigMap ${this.#configMap} does not exist: create it with the key config`)],
    };
  }

  /** Takes the current ConfigMap without a proof; undefined if it does not exist. */
  update(configMap: TemplateConfigMap | undefined): void {
    const parsed = this.read(configMap);
    if ('faults' in parsed) this.#reject(parsed.faults);
    else this.#adopt({ set: parsed.set, texts: configMap?.data ?? {} });
  }

  /** Takes the templates that were proved, unless the API server refuses them. */
  decide({ set, faults, inconclusive }: DryRunResult, texts: TemplateTexts): void {
    if (faults.length === 0) {
      const adopted = { set, texts };
      if (inconclusive.length === 0) this.#proved = adopted;
      this.#adopt(adopted);
      return;
    }
    // They were adopted before they could be proved.
    if (this.#inUse?.set.hash === set.hash) this.#inUse = this.#proved;
    this.#reject(faults);
  }

  #adopt(adopted: Adopted): void {
    const { set } = adopted;
    const current = this.#inUse?.set;
    const changed = current?.hash !== set.hash;
    const isRecovered = this.#faults.length > 0;
    this.#faults = [];
    this.#inUse = adopted;
    if (changed) this.#generation += 1;
    if (changed || isRecovered) this.#observer.adopted(set, this.#generation);
    else if (!sameStrategy(current, set)) this.#observer.strategyChanged?.();
  }

  #reject(faults: readonly TextDiagnostic[]): void {
    const again = sameFaults(faults, this.#faults);
    this.#faults = faults;
    if (!again) this.#observer.rejected(faults, this.#inUse?.set);
  }
}

function sameStrategy(a: TemplateSet, b: TemplateSet): boolean {
  return JSON.stringify(a.rollout) === JSON.stringify(b.rollout);
}

function missing(message: string): TextDiagnostic {
  return textError('', message);
}

/** A resync delivers the same ConfigMap again, which needs no second Event. */
function sameFaults(a: readonly TextDiagnostic[], b: readonly TextDiagnostic[]): boolean {
  return a.map(formatInText).join('\n') === b.map(formatInText).join('\n');
}
