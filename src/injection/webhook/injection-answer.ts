import { HttpError } from '../../kube/admission/http-error.ts';
import type { AdmissionAnswer } from '../../kube/admission/response.ts';
import type { PatchOperation } from '../../util/patch.ts';
import { type Injection, inject } from '../inject.ts';
import { resolveOptIn } from '../opt-in.ts';
import { podViewer } from '../pod-view.ts';
import { isPodCreation, podCreation } from '../podspec/admission-target.ts';
import { ENFORCE_LABEL } from '../podspec/pod-security.ts';
import type { DecideInput, DecideOptions } from '../rule.ts';
import { explain, type Skip, type SkipReason } from '../rules/index.ts';
import { SYSTEM_NAMESPACES } from '../rules/pod-rules.ts';
import type { TemplateSelection, TemplateSet } from '../template/template-set.ts';

/** The decision about a pod: for the API server, the client, metrics and Events. */
export interface InjectionAnswer {
  /** `failed`: the failurePolicy of the webhook decides. */
  readonly decision: Injection['outcome'] | 'failed';
  /** Why the pod gets no sidecar; or, if it gets one, the first of its warnings. */
  readonly reason: SkipReason | undefined;
  /** Warnings for the client, one per line, prefixed with the reason. */
  readonly warnings: readonly string[];
  readonly operations: readonly PatchOperation[];
  /** The names of the templates that the pod gets, and what selected them; absent if it gets none. */
  readonly templates?: readonly string[];
  readonly selectedBy?: TemplateSelection['selectedBy'];
}

const PREFIXES: Readonly<Record<InjectionAnswer['decision'], string>> = {
  injected: 'sidecar added: ',
  skipped: 'no sidecar: ',
  denied: 'the sidecar cannot be added: ',
  failed: '',
};

export function answerTo(injection: Injection): InjectionAnswer {
  if (injection.outcome === 'injected') {
    const { operations, warnings, status, selectedBy } = injection;
    return {
      decision: 'injected',
      reason: warnings[0]?.reason,
      warnings: explain(warnings),
      operations,
      templates: status.templates.map(({ name }) => name),
      selectedBy,
    };
  }
  const { skip, outcome } = injection;
  const decision = isOurFault(skip) ? 'failed' : outcome;
  return {
    decision,
    reason: skip.reason,
    warnings: skip.warn ? explain(skip.diagnostics) : [],
    operations: [],
  };
}

/** The pod opted in itself, and the operator has no valid template: the operator's fault, not the pod's. */
function isOurFault({ reason, explicit }: Skip): boolean {
  return reason === 'no-template' && explicit;
}

/** All warnings in one line. */
export function oneLine({ decision, warnings }: InjectionAnswer): string {
  return `${PREFIXES[decision]}${warnings.join('; ')}`;
}

/**
 * Returns the answer for the API server.
 * @throws HttpError 500 if the decision failed.
 */
export function toAdmissionAnswer(answer: InjectionAnswer): AdmissionAnswer {
  const { decision, warnings, operations } = answer;
  switch (decision) {
    case 'failed':
      throw new HttpError(500, oneLine(answer));
    case 'denied':
      return { allowed: false, code: 403, message: oneLine(answer) };
    case 'injected':
    case 'skipped':
      return { allowed: true, operations, warnings: warnings.map((line) => `${PREFIXES[decision]}${line}`) };
  }
}

type Input = Omit<DecideInput, 'options'>;

/** What is known of a set of templates, for as long as it is in use. */
interface Known {
  readonly viewOf: ReturnType<typeof podViewer>;
  /** By what Envoy reads, then by view. */
  readonly answers: WeakMap<object, Map<string, InjectionAnswer>>;
}

/** More answers are not remembered, nor those for longer views, in characters. */
const [MOST_ANSWERS, MOST_TEXT] = [256, 16_384];
/** For namespaces of which it is not known what Envoy reads. */
const UNKNOWN_FILES = {};

/** Returns a function that decides about pods. In ordinary namespaces it decides once for all pods with the same view. */
export function answerByView(options: DecideOptions): (input: Input) => InjectionAnswer {
  const { keys, operatorNamespace } = options;
  const bySet = new WeakMap<TemplateSet, Known>();
  const isOrdinary = ({ request, pod, namespaceLabels, namespaceTemplates, limitRanges = [] }: Input) =>
    isPodCreation(request) &&
    request.namespace !== operatorNamespace &&
    !SYSTEM_NAMESPACES.includes(request.namespace) &&
    !Object.hasOwn(namespaceLabels, ENFORCE_LABEL) &&
    namespaceTemplates === undefined &&
    limitRanges.length === 0 &&
    // All others are decided at once.
    resolveOptIn(pod, namespaceLabels, options).asked === 'inject';

  return (input) => {
    const whole = () => answerTo(inject({ ...input, options }));
    const { state, envoyFiles, namespaceLabels } = input;
    if (!('set' in state) || !isOrdinary(input)) return whole();
    const known = bySet.get(state.set) ?? { viewOf: podViewer(state.set, keys), answers: new WeakMap() };
    bySet.set(state.set, known);
    const pod = known.viewOf(input.pod);
    if (!pod) return whole();
    const said = Object.hasOwn(namespaceLabels, keys.optIn) ? namespaceLabels[keys.optIn] : undefined;
    const view = { pod, namespaceLabels: said === undefined ? {} : { [keys.optIn]: said } };
    const text = JSON.stringify(view);
    const answers = known.answers.get(envoyFiles ?? UNKNOWN_FILES) ?? new Map<string, InjectionAnswer>();
    known.answers.set(envoyFiles ?? UNKNOWN_FILES, answers);
    const earlier = answers.get(text);
    if (earlier) return earlier;
    // Of the pod and its namespace, the rules get the view and nothing else.
    const answer = answerTo(inject({ ...view, envoyFiles, state, options, request: podCreation('default') }));
    if (answer.decision === 'injected' && text.length <= MOST_TEXT) remember(answers, text, answer);
    return answer;
  };
}

/** Forgets the oldest answer if there are too many. Otherwise odd pods of one user could keep out the pods of all others. */
function remember(answers: Map<string, InjectionAnswer>, text: string, answer: InjectionAnswer): void {
  const [oldest] = answers.keys();
  if (answers.size >= MOST_ANSWERS && oldest !== undefined) answers.delete(oldest);
  Object.freeze(answer.operations);
  answers.set(text, answer);
}
