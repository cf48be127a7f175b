import type { CallSignal } from '../../kube/admission/deadline.ts';
import { HttpError } from '../../kube/admission/http-error.ts';
import type { ReviewHandler } from '../../kube/admission/response.ts';
import type { AdmissionRequest } from '../../kube/admission/review.ts';
import type { Logger } from '../../kube/util/log.ts';
import { clip } from '../../util/clip.ts';
import { isArray, isObject, type JsonValue, own, ownString } from '../../util/json.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { isPodCreation } from '../podspec/admission-target.ts';
import type { Pod } from '../podspec/pod.ts';
import type { DecideOptions } from '../rule.ts';
import type { TemplateState } from '../template/template-set.ts';
import { type InjectionAnswer, rememberingAnswers, toAdmissionAnswer } from './injection-answer.ts';

/** The decision about one pod: for metrics, and for Events unless it is a dry run. */
export interface InjectionRecord extends InjectionAnswer {
  readonly request: AdmissionRequest;
  readonly milliseconds: number;
}

/** `fresh`: read from the API server, because the cache may be behind. */
export type NamespaceSettingsOf = (
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: CallSignal },
) => Promise<NamespaceSettings>;

export interface InjectHandlerOptions {
  readonly decideOptions: DecideOptions;
  /** The templates for a pod in a namespace. */
  readonly templates: (pod: Pod, namespace: NamespaceSettings) => TemplateState;
  /** The settings of a namespace. Rejects if they cannot be read; then the failurePolicy decides. */
  readonly namespaceSettings: NamespaceSettingsOf;
  readonly observe: (record: InjectionRecord) => void;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** No node runs a pod with a tenth of these. For larger pods the failurePolicy decides. */
const MAX_CONTAINERS = 1_000;
const MAX_ENTRIES = 10_000;

/** Returns the webhook that adds sidecars to pods. */
export function createInjectHandler(options: InjectHandlerOptions): ReviewHandler {
  const answerTo = rememberingAnswers(options.decideOptions);
  return async (request, signal) => {
    const start = options.now();
    const record = (answer: InjectionAnswer) =>
      report(options, { request, milliseconds: options.now() - start, ...answer });
    let answer: InjectionAnswer;
    try {
      answer = await answerRequest(options, answerTo, request, signal);
    } catch (err) {
      record({ decision: 'failed', reason: undefined, warnings: [], operations: [] });
      throw err;
    }
    record(answer);
    return toAdmissionAnswer(answer);
  };
}

async function answerRequest(
  { templates, namespaceSettings }: InjectHandlerOptions,
  answerTo: ReturnType<typeof rememberingAnswers>,
  request: AdmissionRequest,
  signal: CallSignal,
): Promise<InjectionAnswer> {
  const pod = request.object ?? {};
  const answerIn = (namespace: NamespaceSettings) =>
    answerTo({ request, pod, ...namespace, state: templates(pod, namespace) });
  if (!isPodCreation(request)) return answerIn({ namespaceLabels: {} });
  const excess = podExcess(request.object);
  if (excess !== undefined) throw new HttpError(413, `the pod has ${excess}`);
  const settingsNow = (fresh: boolean) => namespaceSettings(request.namespace, { fresh, signal });
  const answer = answerIn(await settingsNow(false));
  // The API server only sends pods that opted in. So the namespace was labelled a moment ago, and our cache does
  // not have the label yet.
  const behind = answer.reason === 'not-opted-in';
  return behind ? answerIn(await settingsNow(true)) : answer;
}

/** What a pod has too much of to be decided in one turn of the event loop; undefined if nothing. */
export function podExcess(pod: Pod | undefined): string | undefined {
  const lists = ['containers', 'initContainers'].map((list) => own(own(pod, 'spec'), list));
  const count = lists.reduce<number>((sum, list) => sum + (isArray(list) ? list.length : 0), 0);
  if (count > MAX_CONTAINERS) return `${count} containers: use at most ${MAX_CONTAINERS}`;
  const maps = ['labels', 'annotations'] as const;
  const large = maps.find((map) => hasMore(own(own(pod, 'metadata'), map), MAX_ENTRIES));
  return large && `more than ${MAX_ENTRIES} ${large}: remove some`;
}

function hasMore(map: JsonValue | undefined, most: number): boolean {
  let count = 0;
  if (isObject(map)) for (const _ in map) if (++count > most) return true;
  return false;
}

/** Longest name and longest warning in the log, in characters. */
const [MAX_NAME, MAX_WARNING] = [253, 1_000];

/** Logs one line for each pod. Of its content the line has only what is invalid. */
function report({ log, observe }: InjectHandlerOptions, record: InjectionRecord): void {
  const { request, decision, reason, warnings, operations, templates, selectedBy, milliseconds } = record;
  const metadata = request.object?.metadata;
  const name = request.name || ownString(metadata, 'name') || ownString(metadata, 'generateName');
  log.info(
    {
      uid: request.uid,
      namespace: request.namespace,
      name: name === undefined ? undefined : clip(name, MAX_NAME),
      decision,
      reason,
      templates,
      selectedBy,
      warnings: warnings.length > 0 ? warnings.map((line) => clip(line, MAX_WARNING)) : undefined,
      dryRun: request.dryRun,
      milliseconds,
      operations: operations.length,
    },
    'pod decided',
  );
  observe(record);
}
