import type { Logger } from 'pino';
import { isPodCreation } from '../inject/admission-target.ts';
import type { DecideOptions } from '../inject/decide.ts';
import { type Injection, inject } from '../inject/inject.ts';
import { ownString } from '../inject/json.ts';
import type { SkipReason } from '../inject/reason.ts';
import type { TemplateState } from '../inject/template-set.ts';
import { HttpError } from './http-error.ts';
import type { ReviewHandler, Verdict } from './response.ts';
import type { AdmissionRequest } from './review.ts';

/** What was decided about one pod: for metrics, and for Events where it is no dry run. */
export interface InjectionRecord {
  readonly request: AdmissionRequest;
  readonly decision: Injection['outcome'] | 'failed';
  readonly reason: SkipReason | undefined;
  readonly messages: readonly string[];
  readonly operations: number;
  readonly milliseconds: number;
}

/** `fresh`: not from a cache, which may be behind the API server's own. */
export type NamespaceLabelsOf = (
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: AbortSignal },
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

/** The webhook that adds sidecars to pods. */
export function createInjectHandler(options: InjectHandlerOptions): ReviewHandler {
  return async (request, signal) => {
    const start = options.now();
    const record = (rest: Omit<InjectionRecord, 'request' | 'milliseconds'>) =>
      report(options, { request, milliseconds: options.now() - start, ...rest });
    try {
      const injection = await injectRequest(options, request, signal);
      const verdict = toVerdict(injection);
      record(summarize(injection));
      return verdict;
    } catch (err) {
      record({ decision: 'failed', reason: undefined, messages: [], operations: 0 });
      throw err;
    }
  };
}

async function injectRequest(
  { decide, templates, namespaceLabels }: InjectHandlerOptions,
  request: AdmissionRequest,
  signal: AbortSignal,
): Promise<Injection> {
  const injectWith = async (fresh: boolean) =>
    inject({
      request,
      pod: request.object ?? {},
      namespaceLabels: isPodCreation(request)
        ? await namespaceLabels(request.namespace, { fresh, signal })
        : {},
      options: decide,
      state: templates(),
    });
  const injection = await injectWith(false);
  // The API server sends no pod that did not opt in: its namespace has been labelled a moment ago, which its own cache
  // knows and ours does not.
  const behind = injection.outcome === 'skipped' && injection.skip.reason === 'not-opted-in';
  return behind ? await injectWith(true) : injection;
}

function toVerdict(injection: Injection): Verdict {
  if (injection.outcome === 'injected') return { allowed: true, operations: injection.operations };
  const { reason, messages, explicit, warn } = injection.skip;
  if (injection.outcome === 'denied') {
    const message = `the sidecar cannot be added: ${messages.join('; ')}`;
    return { allowed: false, code: 403, message };
  }
  // The pod asked for its sidecar, and that there is none to give is the operator's fault, not the pod's.
  if (reason === 'no-template' && explicit) throw new HttpError(500, messages.join('; '));
  return { allowed: true, warnings: warn ? messages.map((message) => `no sidecar: ${message}`) : [] };
}

function summarize(injection: Injection): Omit<InjectionRecord, 'request' | 'milliseconds'> {
  if (injection.outcome === 'injected') {
    const operations = injection.operations.length;
    return { decision: 'injected', reason: undefined, messages: [], operations };
  }
  const { reason, messages } = injection.skip;
  return { decision: injection.outcome, reason, messages, operations: 0 };
}

/** One line for each pod, without anything of what is in it. */
function report({ log, observe }: InjectHandlerOptions, record: InjectionRecord): void {
  const { request, decision, reason, operations, milliseconds } = record;
  const metadata = request.object?.metadata;
  log.info(
    {
      uid: request.uid,
      namespace: request.namespace,
      name: request.name || ownString(metadata, 'name') || ownString(metadata, 'generateName'),
      decision,
      reason,
      dryRun: request.dryRun,
      milliseconds,
      operations,
    },
    'pod decided',
  );
  observe(record);
}
