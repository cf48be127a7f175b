import type { AdmissionTarget } from './admission-target.ts';
import { ROWS } from './decision-table.ts';
import { isExplicit, type OptIn, type OptInOptions, resolveOptIn } from './opt-in.ts';
import type { Pod } from './pod.ts';
import type { Skip } from './reason.ts';
import type { Template } from './template.ts';
import { selectTemplates, type TemplateState } from './template-set.ts';

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

/** What the rows of the decision table look at. */
export interface Subject extends DecideInput {
  readonly optIn: OptIn;
  /** The templates that the pod asks for, as far as there are any of these names. */
  readonly templates: readonly Template[];
  /** The names that it asks for and nobody has written. */
  readonly unknownTemplates: readonly string[];
}

export interface Go {
  readonly inject: true;
  /** At least one, in the order in which they are merged. */
  readonly templates: readonly Template[];
}

/**
 * Whether a pod is to get a sidecar, and if not, why not: the first row of the table that finds something
 * decides. Webhook, command line, Events, warnings and metrics all ask here, by way of `inject`, and
 * nothing else decides.
 */
export function decide(input: DecideInput): Go | Skip {
  const optIn = resolveOptIn(input.pod, input.namespaceLabels, input.options);
  const selected = selectTemplates(input.pod, input.options.keys, input.state);
  const subject: Subject = { ...input, optIn, ...selected };
  for (const { reason, find, warn } of ROWS) {
    const message = find(subject);
    if (message === undefined) continue;
    const explicit = isExplicit(optIn);
    return { inject: false, reason, messages: [message], explicit, warn: warn === 'asked' ? explicit : warn };
  }
  return { inject: true, templates: selected.templates };
}
