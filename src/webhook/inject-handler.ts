import type { Logger } from 'pino';
import { isPodCreation } from '../inject/admission-target.ts';
import type { DecideOptions } from '../inject/decide.ts';
import { type Injection, inject } from '../inject/inject.ts';
import { isArray, own, ownString } from '../inject/json.ts';
import type { Pod } from '../inject/pod.ts';
import type { TemplateState } from '../inject/template-set.ts';
import type { CallSignal } from './deadline.ts';
import { HttpError } from './http-error.ts';
import { answerTo, type InjectionAnswer, toVerdict } from './injection-answer.ts';
import type { ReviewHandler } from './response.ts';
import type { AdmissionRequest } from './review.ts';

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
    return toVerdict(answer);
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

/** One line for each pod, with nothing of what is in it but what is wrong there. */
function report({ log, observe }: InjectHandlerOptions, record: InjectionRecord): void {
  const { request, decision, reason, told, operations, milliseconds } = record;
  const metadata = request.object?.metadata;
  log.info(
    {
      uid: request.uid,
      namespace: request.namespace,
      name: request.name || ownString(metadata, 'name') || ownString(metadata, 'generateName'),
      decision,
      reason,
      told: told.length > 0 ? told : undefined,
      dryRun: request.dryRun,
      milliseconds,
      operations: operations.length,
    },
    'pod decided',
  );
  observe(record);
}
