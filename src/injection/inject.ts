import { own } from '../util/json.ts';
import { type PatchOperation, PodPatchBuilder } from '../util/patch.ts';
import { MAX_LENGTH } from '../util/text-bounds.ts';
import { proxyUserFaults } from './envoy/capture.ts';
import { mergeTemplate } from './merge.ts';
import type { NamespaceSettings } from './namespace-settings.ts';
import { isExplicit, resolveOptIn } from './opt-in.ts';
import { annotation, containers, nameOf, type Pod, specField } from './podspec/pod.ts';
import { grownRequests } from './podspec/rules/pod-resources.ts';
import type { DecideInput, DecisionInput } from './rule.ts';
import { diagnose, type PodDiagnostic, type Skip } from './rules/index.ts';
import { POD_RULES } from './rules/pod-rules.ts';
import { RESULT_RULES } from './rules/sidecar-rules.ts';
import { formatStatus, type Status, StatusBuilder } from './status.ts';
import { strayOverrides } from './template/container-override.ts';
import { DEFAULT_OPTIONS } from './template/options.ts';
import { selectTemplates, type TemplateSelection } from './template/template-set.ts';

/** The result for a pod. */
export type Injection =
  | {
      readonly outcome: 'injected';
      /** The operations that turn the given pod into `pod`: at least one. */
      readonly operations: readonly PatchOperation[];
      readonly pod: Pod;
      readonly status: Status;
      readonly selectedBy: TemplateSelection['selectedBy'];
      /** What is wrong all the same: invalid settings for the sidecar, which were ignored, and that traffic bypasses Envoy. */
      readonly warnings: readonly PodDiagnostic[];
    }
  /** The pod stays unchanged; or it is rejected, because of `onConflict: deny`. */
  | { readonly outcome: 'skipped' | 'denied'; readonly skip: Skip };

/** The annotation for the default container of `kubectl exec` and `kubectl logs`. */
export const DEFAULT_CONTAINER_KEY = 'kubectl.kubernetes.io/default-container';

/** The templates: at least one, in the order of the merge. */
type Go = Pick<TemplateSelection, 'templates' | 'selectedBy'> & { readonly inject: true };

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

/**
 * Decides about a pod and adds the sidecar if it gets one. The given pod does not change.
 * @throws PatchError if an operation does not fit the pod.
 */
export function inject(input: DecideInput): Injection {
  const decision = decide(input);
  if (!decision.inject) return { outcome: 'skipped', skip: decision };
  const options = 'set' in input.state ? input.state.set.options : DEFAULT_OPTIONS;
  const patch = new PodPatchBuilder(input.pod);
  const status = new StatusBuilder();
  const refused = (found: readonly PodDiagnostic[]): Injection => {
    if (options.onConflict !== 'deny') return { outcome: 'skipped', skip: toSkip(input, found) };
    const errors = found.map((each) => ({ ...each, severity: 'error' as const }));
    return { outcome: 'denied', skip: toSkip(input, errors) };
  };
  const ignored = [...strayOverrides(input.pod, decision.templates)];
  if (ignored.length > 0 && options.onConflict === 'deny')
    return refused(diagnose('invalid-override', ignored));
  for (const [index, template] of decision.templates.entries()) {
    const overrides = index === 0 ? input.options.keys : undefined;
    const { envoyFiles } = input;
    const merged = mergeTemplate(patch, template, { options, status, overrides, envoyFiles });
    if ('refused' in merged) return refused(merged.refused);
    ignored.push(...merged.ignored);
  }
  for (const [name, request] of grownRequests(input.pod, patch.pod)) {
    status.grown(name, own(own(specField(input.pod, 'resources'), 'requests'), name));
    patch.set(['spec', 'resources', 'requests'], name, request);
  }
  const refusal = predictRejection(input.pod, patch.pod, input);
  if (refusal.length > 0) return { outcome: 'skipped', skip: toSkip(input, refusal) };
  keepDefaultContainer(patch, input.pod, status);
  const done = status.build(decision.templates, input.pod, patch.pod);
  patch.set(['metadata', 'annotations'], input.options.keys.status, formatStatus(done));
  if (annotationsExceed(patch.pod) && !annotationsExceed(input.pod)) return refused(TOO_MANY_ANNOTATIONS);
  return {
    outcome: 'injected',
    operations: patch.operations,
    pod: patch.pod,
    status: done,
    selectedBy: decision.selectedBy,
    warnings: [
      ...diagnose('invalid-override', ignored),
      ...diagnose('proxy-user', proxyUserFaults(patch.pod, decision.templates)),
    ],
  };
}

/** The API server would refuse the pod for its annotations together. */
const TOO_MANY_ANNOTATIONS: readonly PodDiagnostic[] = [
  {
    severity: 'warning',
    reason: 'conflict',
    path: 'metadata.annotations',
    message: `together with those of the sidecar, they exceed the limit of the API server (${MAX_LENGTH} bytes): shorten them, or use a template that adds less`,
  },
];

/** Whether the annotations are larger than the API server allows (k8s.io/apimachinery, ValidateAnnotationsSize). */
function annotationsExceed(pod: Pod): boolean {
  const annotations = own(own(pod, 'metadata'), 'annotations');
  const texts = Object.entries(annotations ?? {}).flat();
  const all = texts.filter((text) => typeof text === 'string').join('');
  // A character has at most three bytes.
  return 3 * all.length > MAX_LENGTH && new TextEncoder().encode(all).length > MAX_LENGTH;
}

function toSkip(input: DecideInput, diagnostics: readonly PodDiagnostic[]): Skip {
  const explicit = isExplicit(resolveOptIn(input.pod, input.namespaceLabels, input.options));
  const reason = diagnostics[0]?.reason ?? 'conflict';
  return { inject: false, reason, diagnostics, explicit, warn: true };
}

/**
 * Makes the application's container the default of kubectl, so that `kubectl logs` shows the same as before.
 * kubectl takes the first container, so this is needed only if a sidecar comes before it.
 */
function keepDefaultContainer(patch: PodPatchBuilder, before: Pod, status: StatusBuilder): void {
  const after = containers(patch.pod);
  const first = nameOf(after[0]);
  if (!status.hasContainer(first) || first === nameOf(containers(before)[0])) return;
  const application = after.map(nameOf).find((name) => !status.hasContainer(name));
  if (!application) return;
  if (annotation(patch.pod, DEFAULT_CONTAINER_KEY) !== undefined) return;
  patch.set(['metadata', 'annotations'], DEFAULT_CONTAINER_KEY, application);
  status.added('annotations', DEFAULT_CONTAINER_KEY);
}

/**
 * Predicts why the API server would reject the injected pod, from the pod and its namespace. Violations of the pod
 * without its sidecar do not count.
 */
function predictRejection(before: Pod, after: Pod, namespace: NamespaceSettings): readonly PodDiagnostic[] {
  for (const { reason, violations } of RESULT_RULES) {
    const found = violations(after, namespace);
    if (found.length === 0) continue;
    const known = new Set(violations(before, namespace));
    const messages = found.filter((message) => !known.has(message));
    if (messages.length > 0) return diagnose(reason, messages);
  }
  return [];
}
