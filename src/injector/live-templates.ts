import { type Fault, formatFault } from '../json/diagnostic.ts';
import { parseTemplateSet, type TemplateSet, type TemplateState } from '../sidecar/template/template-set.ts';

/** The ConfigMap with the templates, as far as it is looked at here. */
interface TemplateConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Told of every change: for Events, logs and metrics. */
interface TemplateObserver {
  /** Pods are injected with these templates: others than before, or the same once more after a fault. */
  adopted(set: TemplateSet, generation: number): void;
  /** Templates were refused; those that stay, if there have been good ones. */
  rejected(faults: readonly Fault[], staying: TemplateSet | undefined): void;
}

/** The templates of the moment: the last good ones that the ConfigMap held. */
export class LiveTemplates {
  readonly #observer: TemplateObserver;
  #set: TemplateSet | undefined;
  #faults: readonly Fault[] = [missing('no ConfigMap has been seen yet')];
  #generation = 0;

  constructor(observer: TemplateObserver) {
    this.#observer = observer;
  }

  /** What to inject with; the fault when there never was anything good. */
  get state(): TemplateState {
    return this.#set ? { set: this.#set } : { fault: this.#faults.map(formatFault).join('; ') };
  }

  /** What is wrong with what the ConfigMap holds now; none when it is in use. */
  get faults(): readonly Fault[] {
    return this.#faults;
  }

  /** How often templates have been adopted. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes the ConfigMap as it is now; undefined when it is not there. */
  update(configMap: TemplateConfigMap | undefined): void {
    const parsed = configMap
      ? parseTemplateSet(configMap.data ?? {})
      : { faults: [missing('the ConfigMap is not there')] };
    if ('faults' in parsed) {
      const again = sameFaults(parsed.faults, this.#faults);
      this.#faults = parsed.faults;
      if (!again) this.#observer.rejected(parsed.faults, this.#set);
      return;
    }
    const changed = parsed.set.hash !== this.#set?.hash;
    const mended = this.#faults.length > 0;
    this.#faults = [];
    if (changed) {
      this.#set = parsed.set;
      this.#generation += 1;
    }
    if (changed || mended) this.#observer.adopted(parsed.set, this.#generation);
  }
}

function missing(message: string): Fault {
  return { source: 'ConfigMap', path: '', message };
}

/** A resync brings the same ConfigMap again, which is worth no second Event. */
function sameFaults(a: readonly Fault[], b: readonly Fault[]): boolean {
  return a.map(formatFault).join('\n') === b.map(formatFault).join('\n');
}
