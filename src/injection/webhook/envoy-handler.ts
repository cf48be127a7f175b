import type { ReviewHandler } from '../../kube/admission/response.ts';
import { formatFault } from '../../util/diagnostic.ts';
import { configurationFaults } from '../envoy/configuration-faults.ts';
import { WEIGHTS_LABEL, weightFaults } from '../envoy/weights.ts';
import { changedConfigMap, refuseConfigMap } from './config-map-review.ts';

/**
 * The webhook that checks what Envoy reads, in all namespaces. The webhook's matchConditions select the ConfigMaps.
 * It rejects weights by which no request is answered. For an invalid bootstrap it only warns: a newer Envoy may
 * accept what these rules do not know.
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
      warnings: faults.map((fault) => `Envoy may reject this configuration: ${formatFault(fault)}`),
    };
  };
}
