import type { NamespaceSettings } from './namespace-settings.ts';
import type { OptIn, OptInOptions } from './opt-in.ts';
import type { AdmissionTarget } from './podspec/admission-target.ts';
import type { Pod } from './podspec/pod.ts';
import type { Selection, TemplateState } from './template/template-set.ts';

export interface DecideOptions extends OptInOptions {
  /** The namespace that the operator runs in. */
  readonly operatorNamespace: string;
}

export interface DecideInput extends NamespaceSettings {
  readonly request: AdmissionTarget;
  readonly pod: Pod;
  readonly options: DecideOptions;
  readonly state: TemplateState;
  /** The name of the workload, if the pod is a workload's template and has no owner. */
  readonly workload?: string | undefined;
}

/** The input of the rules. */
export interface DecisionInput extends DecideInput, Selection {
  readonly optIn: OptIn;
}
