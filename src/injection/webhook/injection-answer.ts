import { HttpError } from '../../kube/admission/http-error.ts';
import type { AdmissionAnswer } from '../../kube/admission/response.ts';
import type { PatchOperation } from '../../util/patch.ts';
import type { Injection } from '../inject.ts';
import { explain, type Skip, type SkipReason } from '../rules/index.ts';
import type { Selection } from '../template/template-set.ts';

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
  readonly selectedBy?: Selection['selectedBy'];
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
      warnings: warnings.flatMap(explain),
      operations,
      templates: status.templates.map(({ name }) => name),
      selectedBy,
    };
  }
  const { skip, outcome } = injection;
  const decision = isOurFault(skip) ? 'failed' : outcome;
  return { decision, reason: skip.reason, warnings: skip.warn ? explain(skip) : [], operations: [] };
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
