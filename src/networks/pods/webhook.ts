import { isPodCreation } from '../../injection/podspec/admission-target.ts';
import type { Pod } from '../../injection/podspec/pod.ts';
import { podSites } from '../../injection/podspec/workload.ts';
import type { CallSignal } from '../../kube/admission/deadline.ts';
import type { AdmissionAnswer, ReviewHandler } from '../../kube/admission/response.ts';
import type { Logger } from '../../kube/util/log.ts';
import { ownString } from '../../util/json.ts';
import type { PatchOperation } from '../../util/patch.ts';

/** The decision about a pod that asks for Networks. */
export type AttachResult =
  | { readonly outcome: 'untouched'; readonly warning?: string }
  | {
      readonly outcome: 'attached';
      readonly operations: readonly PatchOperation[];
      readonly warnings: readonly string[];
    }
  /** For a mistake of the user. */
  | { readonly outcome: 'refused'; readonly message: string };

/**
 * Attaches a new pod. `fresh`: reads Networks from the API server, because the cache may be outdated. Rejects if the
 * API server does not answer; then the failurePolicy decides.
 */
export type Attach = (
  pod: Pod,
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: CallSignal },
) => Promise<AttachResult>;

/** The webhook that attaches pods to Networks. */
export function createAttachHandler({ attach, log }: { attach: Attach; log: Logger }): ReviewHandler {
  return async (request, signal) => {
    const { uid, namespace, object: pod = {}, dryRun } = request;
    if (!isPodCreation(request)) return { allowed: true };
    const cached = await attach(pod, namespace, { fresh: false, signal });
    // Before a refusal, check with the API server, because the cache may be outdated.
    const result =
      cached.outcome === 'refused' ? await attach(pod, namespace, { fresh: true, signal }) : cached;
    const name = request.name || ownString(pod.metadata, 'name') || ownString(pod.metadata, 'generateName');
    log.info({ uid, namespace, name, outcome: result.outcome, dryRun }, 'decided Networks of a pod');
    return toAdmissionAnswer(result);
  };
}

/** The webhook that warns the author of a workload whose pods would be refused. It refuses nothing. */
export function createWorkloadAttachHandler(attach: Attach): ReviewHandler {
  return async ({ object, namespace, subResource }, signal) => {
    if (object === undefined || subResource !== '') return { allowed: true };
    const answers = [...podSites(object)].map(({ pod }) => attach(pod, namespace, { fresh: false, signal }));
    const warnings = (await Promise.all(answers)).flatMap((answer) =>
      answer.outcome === 'refused' ? [`pods of this workload are refused: ${answer.message}`] : [],
    );
    return { allowed: true, warnings };
  };
}

function toAdmissionAnswer(result: AttachResult): AdmissionAnswer {
  if (result.outcome === 'refused') return { allowed: false, code: 403, message: result.message };
  if (result.outcome === 'attached') {
    const { operations, warnings } = result;
    return { allowed: true, operations, warnings };
  }
  return { allowed: true, warnings: result.warning === undefined ? [] : [result.warning] };
}
