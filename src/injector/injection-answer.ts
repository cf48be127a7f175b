import type { PatchOperation } from '../json/patch.ts';
import { HttpError } from '../kube/admission/http-error.ts';
import type { AdmissionAnswer } from '../kube/admission/response.ts';
import type { Injection } from '../sidecar/inject.ts';
import { explain, type Skip, type SkipReason } from '../sidecar/reason.ts';

/** What becomes of a pod: for the API server, for whoever creates the pod, and for whoever looks on. */
export interface InjectionAnswer {
  /** `failed`: the failurePolicy of the webhook decides. */
  readonly decision: Injection['outcome'] | 'failed';
  /** Why there is no sidecar; with one, what of the pod's wishes was passed over. */
  readonly reason: SkipReason | undefined;
  /** What whoever creates the pod is to know, a line each that begins with the reason. None: nothing. */
  readonly told: readonly string[];
  readonly operations: readonly PatchOperation[];
}

const PREFIXES: Readonly<Record<InjectionAnswer['decision'], string>> = {
  injected: '',
  skipped: 'no sidecar: ',
  denied: 'the sidecar cannot be added: ',
  failed: '',
};

export function answerTo(injection: Injection): InjectionAnswer {
  if (injection.outcome === 'injected') {
    const { operations, ignored } = injection;
    return {
      decision: 'injected',
      reason: ignored?.reason,
      told: ignored ? explain(ignored) : [],
      operations,
    };
  }
  const { skip, outcome } = injection;
  const decision = isOurFault(skip) ? 'failed' : outcome;
  return { decision, reason: skip.reason, told: skip.warn ? explain(skip) : [], operations: [] };
}

/** The pod asked for its sidecar, and that there is none to give is the operator's fault, not the pod's. */
function isOurFault({ reason, explicit }: Skip): boolean {
  return reason === 'no-template' && explicit;
}

/** All that there is to know in one line. */
export function oneLine({ decision, told }: InjectionAnswer): string {
  return `${PREFIXES[decision]}${told.join('; ')}`;
}

/** @throws HttpError 500 where it failed. */
export function toAdmissionAnswer(answer: InjectionAnswer): AdmissionAnswer {
  const { decision, told, operations } = answer;
  switch (decision) {
    case 'failed':
      throw new HttpError(500, oneLine(answer));
    case 'denied':
      return { allowed: false, code: 403, message: oneLine(answer) };
    case 'injected':
    case 'skipped':
      return { allowed: true, operations, warnings: told.map((line) => `${PREFIXES[decision]}${line}`) };
  }
}
