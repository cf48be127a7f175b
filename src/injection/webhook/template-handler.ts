import type { ReviewHandler } from '../../kube/admission/response.ts';
import type { Logger } from '../../kube/util/log.ts';
import { type Fault, formatFault } from '../../util/diagnostic.ts';
import { parseTemplateSet, type TemplateSet } from '../template/template-set.ts';
import { changedConfigMap, refuseConfigMap } from './config-map-review.ts';
import { proofWarnings, type TemplateProver } from './template-proof.ts';

export interface TemplateHandlerOptions {
  /** Where the template's ConfigMap is. All others are allowed. */
  readonly namespace: string;
  readonly configMap: string;
  readonly prover: Pick<TemplateProver, 'review'>;
  /** What the templates would do to running pods, in one line; undefined if nothing. */
  readonly forecast: (set: TemplateSet) => string | undefined;
  readonly log: Logger;
}

/**
 * Returns the webhook that rejects invalid templates, so that `kubectl apply` prints the faults and their places: those that
 * the operator knows, and those that the API server finds in a dry run.
 */
export function createTemplateHandler({
  log,
  prover,
  forecast,
  ...wanted
}: TemplateHandlerOptions): ReviewHandler {
  return async (request, signal) => {
    const changed = changedConfigMap(request);
    if (changed?.namespace !== wanted.namespace || changed.name !== wanted.configMap)
      return { allowed: true };
    const refuse = (found: readonly Fault[]) => {
      const { uid, namespace, name, dryRun } = request;
      log.warn(
        { uid, namespace, name, dryRun, faults: found.map(formatFault) },
        'template refused at admission',
      );
      return refuseConfigMap(wanted.configMap, found, 'the template');
    };
    const parsed = parseTemplateSet(changed.data);
    if ('faults' in parsed) return refuse(parsed.faults);
    const proof = await prover.review(parsed.set, changed.data, signal());
    if (proof.faults.length > 0) return refuse(proof.faults);
    const outlook = forecast(parsed.set);
    return {
      allowed: true,
      warnings: [
        ...parsed.advice.map(formatFault),
        ...proofWarnings(proof),
        ...(outlook === undefined ? [] : [outlook]),
      ],
    };
  };
}
