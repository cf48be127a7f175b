import { clip } from '../json/clip.ts';
import { isArray, own, ownString } from '../json/json.ts';
import type { CallSignal } from '../kube/admission/deadline.ts';
import { HttpError } from '../kube/admission/http-error.ts';
import type { ReviewHandler } from '../kube/admission/response.ts';
import type { AdmissionRequest } from '../kube/admission/review.ts';
import type { Logger } from '../kube/util/log.ts';
import { isPodCreation } from '../podspec/admission-target.ts';
import type { Pod } from '../podspec/pod.ts';
import type { DecideOptions } from '../sidecar/decision-input.ts';
import { type Injection, inject } from '../sidecar/inject.ts';
import type { TemplateState } from '../sidecar/template/template-set.ts';
import { answerTo, type InjectionAnswer, toAdmissionAnswer } from './injection-answer.ts';

/** What was decided about one pod: for metrics, and for Events where it is no dry run. */
export interface InjectionRecord extends InjectionAnswer {
  readonly request: AdmissionRequest;
  readonly milliseconds: number;
}

/** `fresh`: not from a cache, which may be behind the API server's own. */
export type NamespaceLabelsOf = (
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: CallSignal },
) => Promise<Readonly<Record<string, string>>>;

export interface InjectHandlerOptions {
  readonly decide: DecideOptions;
  /** The templates of the moment. */
  readonly templates: () => TemplateState;
  /** The labels of a namespace; rejects when they cannot be had, and then the failurePolicy decides. */
  readonly namespaceLabels: NamespaceLabelsOf;
  readonly observe: (record: InjectionRecord) => void;
  readonly log: Logger;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** No node runs a pod of a tenth of that. What is refused here is left to the failurePolicy. */
const MAX_CONTAINERS = 1_000;

/** The webhook that adds sidecars to pods. */
export function createInjectHandler(options: InjectHandlerOptions): ReviewHandler {
  return async (request, signal) => {
    const start = options.now();
    const record = (answer: InjectionAnswer) =>
      report(options, { request, milliseconds: options.now() - start, ...answer });
    let answer: InjectionAnswer;
    try {
      answer = answerTo(await injectRequest(options, request, signal));
    } catch (err) {
      record({ decision: 'failed', reason: undefined, told: [], operations: [] });
      throw err;
    }
    record(answer);
    return toAdmissionAnswer(answer);
  };
}

async function injectRequest(
  { decide, templates, namespaceLabels }: InjectHandlerOptions,
  request: AdmissionRequest,
  signal: CallSignal,
): Promise<Injection> {
  const injectWith = (labels: Readonly<Record<string, string>>) =>
    inject({
      request,
      pod: request.object ?? {},
      namespaceLabels: labels,
      options: decide,
      state: templates(),
    });
  if (!isPodCreation(request)) return injectWith({});
  const count = containerCount(request.object);
  if (count > MAX_CONTAINERS) {
    throw new HttpError(413, `the pod has ${count} containers: at most ${MAX_CONTAINERS} are looked at`);
  }
  const labelsNow = (fresh: boolean) => namespaceLabels(request.namespace, { fresh, signal });
  const injection = injectWith(await labelsNow(false));
  // The API server sends no pod that did not opt in: its namespace has been labelled a moment ago, which its own cache
  // knows and ours does not.
  const behind = injection.outcome === 'skipped' && injection.skip.reason === 'not-opted-in';
  return behind ? injectWith(await labelsNow(true)) : injection;
}

function containerCount(pod: Pod | undefined): number {
  const lists = ['containers', 'initContainers'].map((list) => own(own(pod, 'spec'), list));
  return lists.reduce<number>((sum, list) => sum + (isArray(list) ? list.length : 0), 0);
}

/** Of what a line of the log shows of a pod, in characters. */
const [MAX_NAME, MAX_TOLD] = [253, 1_000];

/** One line for each pod, with nothing of what is in it but what is wrong there. */
function report({ log, observe }: InjectHandlerOptions, record: InjectionRecord): void {
  const { request, decision, reason, told, operations, milliseconds } = record;
  const metadata = request.object?.metadata;
  const name = request.name || ownString(metadata, 'name') || ownString(metadata, 'generateName');
  log.info(
    {
      uid: request.uid,
      namespace: request.namespace,
      name: name === undefined ? undefined : clip(name, MAX_NAME),
      decision,
      reason,
      told: told.length > 0 ? told.map((line) => clip(line, MAX_TOLD)) : undefined,
      dryRun: request.dryRun,
      milliseconds,
      operations: operations.length,
    },
    'pod decided',
  );
  observe(record);
}
