import { formatFault } from '../json/diagnostic.ts';
import type { ReviewHandler } from '../kube/admission/response.ts';
import { configurationFaults } from '../sidecar/envoy/configuration-faults.ts';
import { WEIGHTS_LABEL, weightFaults } from '../sidecar/envoy/weights.ts';
import { changedConfigMap, refuseConfigMap } from './config-map-review.ts';

/**
 * The webhook that looks through what Envoy reads, in whichever namespace: which ConfigMaps that are is for the webhook's
 * conditions to say. Weights by which nobody gets an answer are refused. Of a bootstrap that would keep Envoy from
 * working `kubectl apply` only warns: our rules are not Envoy's own, and it may be a newer one.
 */
export function createEnvoyHandler(): ReviewHandler {
  return async (request) => {
    const changed = changedConfigMap(request);
    if (changed === undefined) return { allowed: true };
    if (changed.labels[WEIGHTS_LABEL] === 'true') {
      const faults = weightFaults(changed.data);
      return faults.length === 0 ? { allowed: true } : refuseConfigMap(changed.name, faults, 'the weights');
    }
    const faults = configurationFaults(changed.data);
    return {
      allowed: true,
      warnings: faults.map((fault) => `Envoy would not work with this: ${formatFault(fault)}`),
    };
  };
}
