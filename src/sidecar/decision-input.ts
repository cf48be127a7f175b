import type { AdmissionTarget } from '../podspec/admission-target.ts';
import type { Pod } from '../podspec/pod.ts';
import type { OptIn, OptInOptions } from './opt-in.ts';
import type { Template } from './template/template.ts';
import type { TemplateState } from './template/template-set.ts';

export interface DecideOptions extends OptInOptions {
  /** The namespace that the operator runs in. */
  readonly operatorNamespace: string;
}

export interface DecideInput {
  readonly request: AdmissionTarget;
  readonly pod: Pod;
  /** The labels of the request's namespace. */
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly options: DecideOptions;
  readonly state: TemplateState;
  /** The name of the workload, for templates that say it, where the pod is only a workload's template and has no owner. */
  readonly workload?: string | undefined;
}

/** What the rules look at. */
export interface DecisionInput extends DecideInput {
  readonly optIn: OptIn;
  /** The templates that the pod asks for, as far as there are any of these names. */
  readonly templates: readonly Template[];
  /** The names that it asks for and nobody has written. */
  readonly unknownTemplates: readonly string[];
}
