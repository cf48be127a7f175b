import { HttpError } from '../../kube/admission/http-error.ts';
import type { AdmissionAnswer } from '../../kube/admission/review.ts';
import { LruMap } from '../../kube/util/lru-map.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import type { PatchOperation } from '../../util/patch.ts';
import { type Injection, inject } from '../inject.ts';
import { resolveOptIn } from '../opt-in.ts';
import { isPodCreation, podCreation } from '../podspec/admission-target.ts';
import type { Pod } from '../podspec/pod.ts';
import type { DecideInput, DecideOptions } from '../rule.ts';
import { explain, type SkipReason } from '../rules/index.ts';
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
  denied: 'refused (onConflict: deny): ',
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
  // If the pod opted in itself and there is no valid template, that is the operator's fault, not the pod's.
  const isOurFault = skip.reason === 'no-template' && skip.explicit;
  return {
    decision: isOurFault ? 'failed' : outcome,
    reason: skip.reason,
    warnings: skip.warn ? explain(skip.diagnostics) : [],
    operations: [],
  };
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
  if (decision === 'failed') throw new HttpError(500, oneLine(answer));
  if (decision === 'denied') return { allowed: false, code: 403, message: oneLine(answer) };
  return { allowed: true, operations, warnings: warnings.map((line) => `${PREFIXES[decision]}${line}`) };
}

type Input = Omit<DecideInput, 'options'>;

/** More answers are not remembered, nor those for longer texts, in characters, or for containers with more variables. */
const [MOST_ANSWERS, MOST_TEXT, MOST_VARIABLES] = [512, 16_384, 50];
/** The volume of the service account's token: the API server makes up the rest of its name for each pod. */
const TOKEN_VOLUME = 'kube-api-access-';
const TOKEN_VOLUMES = new RegExp(`${TOKEN_VOLUME}[a-z0-9]{5}`, 'g');

/**
 * Returns a function that decides about pods. The pods of a workload are alike, so it remembers answers by the text of all that
 * the decision depends on.
 */
export function rememberingAnswers(options: DecideOptions): (input: Input) => InjectionAnswer {
  const bySet = new WeakMap<TemplateSet, LruMap<string, InjectionAnswer>>();
  /** Numbers for what Envoy reads: equal data is one object in the cache. */
  const numbers = new WeakMap<object, number>();
  let last = 0;
  return (input) => {
    const decided = () => answerTo(inject({ ...input, options }));
    const { state, request, pod, envoyFiles, ...settings } = input;
    const { asked } = resolveOptIn(pod, settings.namespaceLabels, options);
    if (!('set' in state) || !isPodCreation(request) || asked !== 'inject' || !isOrdinary(pod))
      return decided();
    const { uid: _, creationTimestamp: __, managedFields: ___, ...metadata } = pod.metadata as JsonObject;
    const text = JSON.stringify({ metadata, spec: pod.spec }).replaceAll(TOKEN_VOLUMES, TOKEN_VOLUME);
    if (text.length > MOST_TEXT) return decided();
    if (envoyFiles && !numbers.has(envoyFiles)) numbers.set(envoyFiles, ++last);
    const place = [request.namespace, envoyFiles && numbers.get(envoyFiles), settings];
    const key = `${JSON.stringify(place)}\n${text}`;
    const answers = bySet.get(state.set) ?? new LruMap(MOST_ANSWERS);
    bySet.set(state.set, answers);
    const earlier = answers.get(key);
    if (earlier) return earlier;
    // Of the pod, the rules get the text and nothing else, so the answer holds for all pods that have it.
    const same = { ...input, pod: JSON.parse(text) as JsonObject, request: podCreation(request.namespace) };
    const answer = answerTo(inject({ ...same, options }));
    if (JSON.stringify(answer).includes(TOKEN_VOLUME)) return decided();
    if (answer.decision !== 'injected') return answer;
    Object.freeze(answer.operations);
    answers.set(key, answer);
    return answer;
  };
}

/** Whether it has the shape of a pod, and its text is not much longer than that of most. */
function isOrdinary({ metadata, spec }: Pod): boolean {
  const isShort = (container: JsonValue) => {
    const variables = own(container, 'env');
    return !isArray(variables) || variables.length <= MOST_VARIABLES;
  };
  const list = own(spec, 'containers');
  return isObject(metadata) && isArray(list) && list.every(isShort);
}
