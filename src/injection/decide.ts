import { isExplicit, resolveOptIn } from './opt-in.ts';
import type { DecideInput, DecisionInput } from './rule.ts';
import { diagnose, type Skip } from './rules/index.ts';
import { POD_RULES } from './rules/pod-rules.ts';
import type { Template } from './template/template.ts';
import { selectTemplates, type TemplateSelection } from './template/template-set.ts';

export interface Go {
  readonly inject: true;
  /** At least one, in the order of the merge. */
  readonly templates: readonly Template[];
  readonly selectedBy: TemplateSelection['selectedBy'];
}

/**
 * Decides whether a pod gets a sidecar. If not, the first rule that matches gives the reason. The webhook, the command
 * line, Events, warnings and metrics all use this decision, through `inject`.
 */
export function decide(input: DecideInput): Go | Skip {
  const optIn = resolveOptIn(input.pod, input.namespaceLabels, input.options);
  const selected = selectTemplates(input.pod, input, input.options.keys, input.state);
  const subject: DecisionInput = { ...input, optIn, ...selected };
  for (const { reason, find, warn } of POD_RULES) {
    const message = find(subject);
    if (message === undefined) continue;
    const explicit = isExplicit(optIn);
    const diagnostics = diagnose(reason, [message]);
    return { inject: false, reason, diagnostics, explicit, warn: warn === 'asked' ? explicit : warn };
  }
  const { templates, selectedBy } = selected;
  return { inject: true, templates, selectedBy };
}
