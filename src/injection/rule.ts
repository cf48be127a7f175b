import type { EnvoyFiles } from './envoy/files.ts';
import type { Keys } from './keys.ts';
import type { NamespaceSettings } from './namespace-settings.ts';
import type { OptIn, OptInOptions } from './opt-in.ts';
import type { AdmissionTarget } from './podspec/admission-target.ts';
import type { Pod } from './podspec/pod.ts';
import type { Template } from './template/template.ts';
import type { TemplateSelection, TemplateState } from './template/template-set.ts';

export interface DecideOptions extends OptInOptions {
  /** The namespace that the operator runs in. */
  readonly operatorNamespace: string;
}

export interface DecideInput extends NamespaceSettings {
  readonly request: AdmissionTarget;
  readonly pod: Pod;
  readonly options: DecideOptions;
  readonly state: TemplateState;
}

/** The input of the rules. */
export interface DecisionInput extends DecideInput, TemplateSelection {
  readonly optIn: OptIn;
}

/** The pods of a policy: pods that opt in themselves, or pods whose namespace opts in. */
export type Audience = 'pod' | 'namespace';

/** The input for the conditions of an admission policy. */
export interface PolicySubject {
  readonly audience: Audience;
  readonly keys: Keys;
  readonly template: Template;
  /** What sidecars may read. */
  readonly envoyFiles?: readonly EnvoyFiles[];
}

/** A condition in CEL for the pods that a policy skips (`unless`), or takes (`only`). */
type PolicyCondition = { readonly unless: string } | { readonly only: string };

/** A reason to leave a pod unchanged. */
export interface Rule {
  /** Users see it in logs, metrics, warnings, Events and `check`. */
  readonly reason: string;
  /** Its meaning, as Markdown for the table in docs/troubleshooting.md. */
  readonly help: string;
  /** Whether the client that creates the pod gets a warning; `asked`: only if the pod itself opted in. */
  readonly warn: boolean | 'asked';
  /**
   * How a policy finds it. The condition may match more pods, which the policy leaves to the webhook. `elsewhere`: it
   * has no condition of its own. Undefined: it cannot occur with this template.
   */
  readonly cel: 'elsewhere' | ((subject: PolicySubject) => PolicyCondition | undefined);
}

/** A rule that checks the pod and its namespace. */
export interface PodRule extends Rule {
  /** Returns one sentence if it matches. */
  readonly find: (subject: DecisionInput) => string | undefined;
}

/** A rule of the API server that would reject the pod with its sidecar. */
export interface ResultRule extends Rule {
  readonly warn: true;
  /** The violations in a pod. Only those that the sidecar adds count. */
  readonly violations: (pod: Pod, namespace: NamespaceSettings) => readonly string[];
}
