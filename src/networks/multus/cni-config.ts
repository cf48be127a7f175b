import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../kube/api/object.ts';
import { NODE_IPAM } from '../api/names.ts';

/** VNIs have 24 bits. The lower half is for other programs on the nodes, which start at 1 or at 4096. */
export const FIRST_VNI = 2 ** 23;
export const VNI_COUNT = 2 ** 23;

/**
 * The CNI configuration of a Network as JSON: a bridge on the node, and the addresses that the operator wrote into the
 * annotation of the pod (CNI specification 1.0.0). `ips` and `mac` let a pod choose its own. No gateway and no
 * masquerading: the node agent makes both. `isShared`: for pods of all namespaces. No routes: this is a pod's second
 * interface, so its default route stays.
 */
export function cniConfig(key: ObjectKey, mtu: number | undefined, isShared = false): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: key.replace('/', '.'),
    plugins: [
      {
        type: 'bridge',
        bridge: bridgeName(key),
        isGateway: false,
        ipMasq: false,
        hairpinMode: true,
        ...(mtu !== undefined && { mtu }),
        capabilities: { ips: true, mac: true },
        ipam: { ...(isShared && { shared: true }), type: NODE_IPAM },
      },
    ],
  });
}

/**
 * The bridge's name on the nodes: 15 characters, the maximum of Linux. It depends on the key and not on the UID, so
 * that a recreated Network reuses its old bridge and does not get a second one with the same addresses.
 */
export function bridgeName(key: ObjectKey): string {
  return `nw-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}

export function isVni(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= FIRST_VNI && Number(value) < FIRST_VNI + VNI_COUNT;
}
