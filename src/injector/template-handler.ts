import { formatFault } from '../json/diagnostic.ts';
import type { ReviewHandler } from '../kube/admission/response.ts';
import type { Logger } from '../kube/util/log.ts';
import { parseTemplateSet } from '../sidecar/template/template-set.ts';
import { changedConfigMap, refuseConfigMap } from './config-map-review.ts';

export interface TemplateHandlerOptions {
  /** Where the template's ConfigMap is. All others are allowed. */
  readonly namespace: string;
  readonly configMap: string;
  readonly log: Logger;
}

/**
 * Returns the webhook that rejects invalid templates, so that `kubectl apply` prints the faults and their places.
 */
export function createTemplateHandler({ log, ...wanted }: TemplateHandlerOptions): ReviewHandler {
  return async (request) => {
    const changed = changedConfigMap(request);
    if (changed?.namespace !== wanted.namespace || changed.name !== wanted.configMap)
      return { allowed: true };
    const parsed = parseTemplateSet(changed.data);
    if ('set' in parsed) return { allowed: true, warnings: parsed.advice.map(formatFault) };
    const { uid, namespace, name, dryRun } = request;
    const faults = parsed.faults.map(formatFault);
    log.warn({ uid, namespace, name, dryRun, faults }, 'template refused at admission');
    return refuseConfigMap(wanted.configMap, parsed.faults, 'the template');
  };
}
