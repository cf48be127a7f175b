import { type Fault, formatFault } from '../json/diagnostic.ts';
import { parseTemplateSet, type TemplateSet, type TemplateState } from '../sidecar/template/template-set.ts';

/** The ConfigMap with the templates: the fields that are read here. */
interface TemplateConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Called on every change: for Events, logs and metrics. */
interface TemplateObserver {
  /** Pods get these templates now: new ones, or the same ones again after a fault. */
  adopted(set: TemplateSet, generation: number): void;
  /** The templates are invalid; `staying` are the last valid ones, if any. */
  rejected(faults: readonly Fault[], staying: TemplateSet | undefined): void;
}

/** The current templates: the last valid ones of the ConfigMap. */
export class LiveTemplates {
  readonly #observer: TemplateObserver;
  readonly #configMap: string;
  #set: TemplateSet | undefined;
  #faults: readonly Fault[];
  #generation = 0;

  /** `configMap`: its namespace and name, for messages. */
  constructor(observer: TemplateObserver, configMap: string) {
    this.#observer = observer;
    this.#configMap = configMap;
    this.#faults = [missing(`ConfigMap ${configMap} is not read yet`)];
  }

  /** The templates to inject; the faults if there has never been a valid one. */
  get state(): TemplateState {
    return this.#set ? { set: this.#set } : { fault: this.#faults.map(formatFault).join('; ') };
  }

  /** The faults of the ConfigMap's current content; empty if it is in use. */
  get faults(): readonly Fault[] {
    return this.#faults;
  }

  /** How often this process has adopted templates. */
  get generation(): number {
    return this.#generation;
  }

  /** Reads the current ConfigMap; undefined if it does not exist. */
  update(configMap: TemplateConfigMap | undefined): void {
    const parsed = configMap
      ? parseTemplateSet(configMap.data ?? {})
      : { faults: [missing(`ConfigMap ${this.#configMap} does not exist: create it with the key config`)] };
    if ('faults' in parsed) {
      const again = sameFaults(parsed.faults, this.#faults);
      this.#faults = parsed.faults;
      if (!again) this.#observer.rejected(parsed.faults, this.#set);
      return;
    }
    const changed = parsed.set.hash !== this.#set?.hash;
    const isRecovered = this.#faults.length > 0;
    this.#faults = [];
    if (changed) {
      this.#set = parsed.set;
      this.#generation += 1;
    }
    if (changed || isRecovered) this.#observer.adopted(parsed.set, this.#generation);
  }
}

function missing(message: string): Fault {
  return { source: '', path: '', message };
}

/** A resync delivers the same ConfigMap again, which needs no second Event. */
function sameFaults(a: readonly Fault[], b: readonly Fault[]): boolean {
  return a.map(formatFault).join('\n') === b.map(formatFault).join('\n');
}
