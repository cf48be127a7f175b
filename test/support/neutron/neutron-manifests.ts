import type { NetworkSpec } from '../../../src/networks/api/types.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';

/** As `--neutron-secret` has it where nobody says otherwise. */
export const NEUTRON_SECRET = 'envoy-initializer-neutron';

/** A Network of provider neutron, in the namespace `default`. */
export function neutronNetwork(name: string, spec: Omit<NetworkSpec, 'provider'>): object {
  return {
    ...{ apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network' },
    metadata: { namespace: 'default', name },
    spec: { provider: 'neutron', ...spec },
  };
}

/** The Secret by which the operator comes to OpenStack. */
export function neutronSecret(cloudsYaml: string, cacert?: string): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Secret' },
    metadata: { namespace: OPERATOR_NAMESPACE, name: NEUTRON_SECRET },
    stringData: { 'clouds.yaml': cloudsYaml, ...(cacert !== undefined && { cacert }) },
  };
}
