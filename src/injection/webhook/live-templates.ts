import { formatInText, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { sameJson } from '../../util/json.ts';
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
    this.#faults = [textError('', `ConfigMap ${configMap} is not read yet`)];
  }

  /** The templates to inject; the faults if there has never been a valid one. */
  get state(): TemplateState {
    return this.#inUse ? { set: this.#inUse.set } : { fault: this.#said().join('; ') };
  }

  /** The data of the ConfigMap with the templates in use; undefined if there has never been a valid one. */
  get texts(): TemplateTexts | undefined {
    return this.#inUse?.texts;
  }

  /** For /debug/template. */
  debug() {
    const { set, texts } = this.#inUse ?? {};
    return { hash: set?.hash, generation: this.#generation, faults: this.#said(), data: texts };
  }

  #said(): readonly string[] {
    return this.#faults.map(formatInText);
  }

  /** The templates of a ConfigMap, or what is wrong with it; undefined if it does not exist. */
  read(configMap: TemplateConfigMap | undefined): ReturnType<typeof parseTemplateSet> {
    if (configMap) return parseTemplateSet(configMap.data ?? {});
    const message = `ConfigMap ${this.#configMap} does not exist: create it with the key config`;
    return { faults: [textError('', message)] };
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
    const changed =
      current?.hash !== set.hash || !sameJson(incompatibleShapesOf(current), incompatibleShapesOf(set));
    const isRecovered = this.#faults.length > 0;
    this.#faults = [];
    this.#inUse = adopted;
    if (changed) this.#generation += 1;
    if (changed || isRecovered) this.#observer.adopted(set, this.#generation);
    else if (JSON.stringify(current?.rollout) !== JSON.stringify(set.rollout))
      this.#observer.strategyChanged?.();
  }

  #reject(faults: readonly TextDiagnostic[]): void {
    const before = this.#said().join('\n');
    this.#faults = faults;
    // A resync delivers the same ConfigMap again, which needs no second Event.
    if (before !== this.#said().join('\n')) this.#observer.rejected(faults, this.#inUse?.set);
  }
}

/** For each template, the shapes of pods that it does not fit. */
export function incompatibleShapesOf({
  templates,
}: TemplateSet): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    [...templates].map(([name, { incompatibleShapes }]) => [
      name,
      incompatibleShapes.map(({ shape }) => shape.name),
    ]),
  );
}
