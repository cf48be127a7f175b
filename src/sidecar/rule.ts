import type { Pod } from '../podspec/pod.ts';
import type { DecisionInput } from './decision-input.ts';
import type { Keys } from './keys.ts';
import type { Template } from './template/template.ts';

/** Which pods a policy is for: those that opt in themselves, or those that say nothing where their namespace does. */
export type Audience = 'pod' | 'namespace';

/** What an admission policy is compiled for. */
export interface PolicySubject {
  readonly audience: Audience;
  readonly keys: Keys;
  readonly template: Template;
}

/** In CEL, which pods a policy passes over, or the only ones that it takes. */
export type PolicyCondition = { readonly unless: string } | { readonly only: string };

/** A reason to leave a pod as it is. */
interface Rule {
  /** Users see it: in logs, metrics, warnings, Events and `check`. */
  readonly reason: string;
  /** What it means, as Markdown for the table in docs/reasons.md. */
  readonly help: string;
  /** Whether the client that creates the pod gets a warning; `asked`: only if the pod itself opted in. */
  readonly warn: boolean | 'asked';
  /**
   * How a policy finds it. The condition may be true of more pods: the policy leaves these to the webhook. `elsewhere`:
   * not by a condition of its own. Undefined: it cannot occur with this template.
   */
  readonly cel: 'elsewhere' | ((subject: PolicySubject) => PolicyCondition | undefined);
}

/** One that is found in the pod and its namespace. */
export interface PodRule extends Rule {
  /** Says in one sentence what it found, or nothing. */
  readonly find: (subject: DecisionInput) => string | undefined;
}

/** One that is found while the templates are merged (merge.ts). */
export interface MergeRule extends Rule {
  readonly warn: true;
}

/** One for which the API server would refuse the pod with its sidecar. */
export interface ResultRule extends Rule {
  readonly warn: true;
  /** What is wrong with a pod. Only what the sidecar adds to it counts. */
  readonly violations: (pod: Pod, namespaceLabels: Readonly<Record<string, string>>) => readonly string[];
}
