import { HttpError } from '../../kube/admission/http-error.ts';
import type { AdmissionRequest, ReviewHandler } from '../../kube/admission/review.ts';
import type { Logger } from '../../kube/util/log.ts';
import { clip } from '../../util/clip.ts';
import { type JsonObject, own, ownList, ownObject, ownString } from '../../util/json.ts';
import { inject } from '../inject.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { isPodCreation, podCreation } from '../podspec/admission-target.ts';
import { annotation, type Pod } from '../podspec/pod.ts';
import { createdPod, podSites } from '../podspec/workload.ts';
import type { DecideOptions } from '../rule.ts';
import { unknownTemplate } from '../rules/pod-rules.ts';
import { selectTemplates, type TemplateState } from '../template/template-set.ts';
import {
  answerTo,
  type InjectionAnswer,
  oneLine,
  rememberingAnswers,
  toAdmissionAnswer,
} from './injection-answer.ts';

/** The decision about one pod: for metrics, and for Events unless it is a dry run. */
export interface InjectionRecord extends InjectionAnswer {
  readonly request: AdmissionRequest;
  readonly milliseconds: number;
}

/** `fresh`: read from the API server, because the cache may be behind. */
export type NamespaceSettingsOf = (
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: AbortSignal },
) => Promise<NamespaceSettings>;

/** What the decision about a pod needs. */
export interface PodDecisions {
  readonly decideOptions: DecideOptions;
  /** The templates for a pod in a namespace. */
  readonly templates: (pod: Pod, namespace: NamespaceSettings) => TemplateState;
  /** The settings of a namespace. Rejects if they cannot be read; then the failurePolicy decides. */
  readonly namespaceSettings: NamespaceSettingsOf;
}

export interface InjectHandlerOptions extends PodDecisions {
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
  const { decideOptions, templates, namespaceSettings, now } = options;
  const answerTo = rememberingAnswers(decideOptions);
  const answerRequest = async (request: AdmissionRequest, signal: AbortSignal) => {
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
  };
  return async (request, signal) => {
    const start = now();
    const record = (answer: InjectionAnswer) =>
      report(options, { request, milliseconds: now() - start, ...answer });
    const answer = await answerRequest(request, signal).catch((err: unknown) => {
      record({ decision: 'failed', reason: undefined, warnings: [], operations: [] });
      throw err;
    });
    record(answer);
    return toAdmissionAnswer(answer);
  };
}

/** What a pod has too much of to be decided in one turn of the event loop; undefined if nothing. */
function podExcess(pod: Pod | undefined): string | undefined {
  const lists = ['containers', 'initContainers'].map((list) => ownList(own(pod, 'spec'), list));
  const count = lists.reduce((sum, { length }) => sum + length, 0);
  if (count > MAX_CONTAINERS) return `${count} containers: use at most ${MAX_CONTAINERS}`;
  const maps = ['labels', 'annotations'] as const;
  const large = maps.find((map) => Object.keys(ownObject(own(pod, 'metadata'), map)).length > MAX_ENTRIES);
  return large && `more than ${MAX_ENTRIES} ${large}: remove some`;
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
    'pod handled',
  );
  observe(record);
}

/**
 * The webhook that warns the author of a workload of what the operator would say about its pods: their controller gets
 * those warnings, and ignores them. The author of a Namespace is warned of templates that do not exist. It rejects nothing.
 */
export function createWorkloadHandler(options: PodDecisions): ReviewHandler {
  return async ({ kind, object, namespace, operation, subResource }, signal) => {
    const isChange = (operation === 'CREATE' || operation === 'UPDATE') && subResource === '';
    if (!isChange || object === undefined) return { allowed: true };
    if (kind.kind === 'Namespace') return { allowed: true, warnings: namespaceWarnings(object, options) };
    const settings = await options.namespaceSettings(namespace, { fresh: false, signal });
    const sites = [...podSites(object)].filter(({ pod }) => podExcess(pod) === undefined);
    const warnings = sites.flatMap((site) => {
      const pod = createdPod(object, site.pod);
      const [request, state] = [podCreation(namespace), options.templates(pod, settings)];
      const answer = answerTo(inject({ request, pod, ...settings, options: options.decideOptions, state }));
      return answer.warnings.length > 0 ? [`pods of this workload: ${oneLine(answer)}`] : [];
    });
    return { allowed: true, warnings };
  };
}

/** The templates that a Namespace selects, and that do not exist. */
function namespaceWarnings(
  object: JsonObject,
  { decideOptions: options, templates }: PodDecisions,
): readonly string[] {
  const selected = annotation(object, options.keys.templates);
  const settings = { namespaceLabels: {}, namespaceTemplates: selected };
  const selection = selectTemplates({}, settings, options.keys, templates({}, settings));
  const message = unknownTemplate.find({ ...selection, options });
  return message === undefined
    ? []
    : [`pods in this namespace get no sidecar: ${unknownTemplate.reason}: ${message}`];
}
