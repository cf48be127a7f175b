import { keyOf } from '../../../kube/api/object.ts';
import { NODE_OVS } from '../../../networks/api/names.ts';
import type { Network } from '../../../networks/api/types.ts';

/** The bridge of OVN on a node (ovn-controller(8), external-ids:ovn-bridge). */
const INTEGRATION_BRIDGE = 'br-int';

/**
 * The CNI configuration of a Network as JSON (CNI specification 1.0.0): a port of the node's integration bridge, which
 * ovs-cni makes and ovn-controller connects. Addresses, MAC and the port's ID are in the annotation of the pod. No
 * routes: this is a pod's second interface, so its default route stays.
 */
export function ovsConfig(network: Network, mtu: number | undefined): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: keyOf(network).replace('/', '.'),
    plugins: [
      {
        type: NODE_OVS,
        bridge: INTEGRATION_BRIDGE,
        ...(mtu !== undefined && { mtu }),
        capabilities: { ips: true, mac: true },
        ipam: { type: 'static' },
      },
    ],
  });
}
