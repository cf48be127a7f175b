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
  /** The name of the workload, if the pod is a workload's template and has no owner. */
  readonly workload?: string | undefined;
}

/** The input of the rules. */
export interface DecisionInput extends DecideInput {
  readonly optIn: OptIn;
  /** The templates that the pod selects, if they exist. */
  readonly templates: readonly Template[];
  /** The selected names of templates that do not exist. */
  readonly unknownTemplates: readonly string[];
}
