import type { Logger } from 'pino';
import { isPodCreation } from '../inject/admission-target.ts';
import type { DecideOptions } from '../inject/decide.ts';
import { type Injection, inject } from '../inject/inject.ts';
import { ownString } from '../inject/json.ts';
import { explain, type Obstacle, type Skip } from '../inject/reason.ts';
import type { TemplateState } from '../inject/template-set.ts';
import { HttpError } from './http-error.ts';
import type { ReviewHandler, Verdict } from './response.ts';
import type { AdmissionRequest } from './review.ts';

/** What was decided about one pod: for metrics, and for Events where it is no dry run. */
export interface InjectionRecord {
  readonly request: AdmissionRequest;
  readonly decision: Injection['outcome'] | 'failed';
  /** Why not; with a sidecar, what of the pod's wishes was passed over. */
  readonly obstacle: Obstacle | undefined;
  /** Whether whoever creates the pod is told. */
  readonly warn: boolean;
  readonly operations: number;
  readonly milliseconds: number;
}

type Summary = Omit<InjectionRecord, 'request' | 'milliseconds'>;

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
    const record = (summary: Summary) =>
      report(options, { request, milliseconds: options.now() - start, ...summary });
    let injection: Injection;
    try {
      injection = await injectRequest(options, request, signal);
    } catch (err) {
      record({ decision: 'failed', obstacle: undefined, warn: false, operations: 0 });
      throw err;
    }
    record(summarize(injection));
    return toVerdict(injection);
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
  if (injection.outcome === 'injected') {
    const { operations, ignored } = injection;
    return { allowed: true, operations, warnings: ignored ? explain(ignored) : [] };
  }
  const lines = explain(injection.skip);
  if (injection.outcome === 'denied') {
    return { allowed: false, code: 403, message: `the sidecar cannot be added: ${lines.join('; ')}` };
  }
  if (isOurFault(injection.skip)) throw new HttpError(500, lines.join('; '));
  return { allowed: true, warnings: injection.skip.warn ? lines.map((line) => `no sidecar: ${line}`) : [] };
}

/** The pod asked for its sidecar, and that there is none to give is the operator's fault: the failurePolicy decides. */
function isOurFault({ reason, explicit }: Skip): boolean {
  return reason === 'no-template' && explicit;
}

function summarize(injection: Injection): Summary {
  if (injection.outcome === 'injected') {
    const { operations, ignored } = injection;
    const warn = ignored !== undefined;
    return { decision: 'injected', obstacle: ignored, warn, operations: operations.length };
  }
  const { skip, outcome } = injection;
  const decision = isOurFault(skip) ? 'failed' : outcome;
  return { decision, obstacle: skip, warn: skip.warn, operations: 0 };
}

/** One line for each pod, without anything of what is in it but what is wrong there. */
function report({ log, observe }: InjectHandlerOptions, record: InjectionRecord): void {
  const { request, decision, obstacle, warn, operations, milliseconds } = record;
  const metadata = request.object?.metadata;
  log.info(
    {
      uid: request.uid,
      namespace: request.namespace,
      name: request.name || ownString(metadata, 'name') || ownString(metadata, 'generateName'),
      decision,
      reason: obstacle?.reason,
      messages: warn ? obstacle?.messages : undefined,
      dryRun: request.dryRun,
      milliseconds,
      operations,
    },
    'pod decided',
  );
  observe(record);
}
