// Generated from crd/networks.yaml by `node hack/generate-types.ts`: do not edit.

import type { KubeObject } from '../../kube/api/object.ts';
import type { Fitting } from '../../util/shape.ts';

/** The shape of what follows the metadata of a Network. */
export const NETWORK = {
  spec: {
    cidr: 'string',
    gateway: 'string',
    'secondary?': { cidr: 'string', gateway: 'string' },
    'exclude?': ['string'],
    'provider?': 'multus|neutron',
    'mtu?': 'number',
    'deletionPolicy?': 'Delete|Retain',
  },
  'status?': {
    'observedGeneration?': 'number',
    'conditions?': [
      {
        type: 'string',
        status: 'True|False|Unknown',
        'observedGeneration?': 'number',
        lastTransitionTime: 'string',
        reason: 'string',
        message: 'string',
      },
    ],
    'cidr?': 'string',
    'gateway?': 'string',
    'mtu?': 'number',
    'secondary?': { cidr: 'string', gateway: 'string' },
    'vni?': 'number',
    'nodes?': [{ name: 'string', address: 'string' }],
    'provider?': 'string',
    'externalID?': 'string',
    'capacity?': { 'total?': 'number', 'allocated?': 'number' },
    'attachedPods?': 'number',
  },
} as const;

export type Network = KubeObject & Fitting<typeof NETWORK>;
export type NetworkSpec = Network['spec'];
export type NetworkStatus = NonNullable<Network['status']>;
export type Condition = NonNullable<NetworkStatus['conditions']>[number];
export type NetworkNode = NonNullable<NetworkStatus['nodes']>[number];
