import type { ObjectKey } from '../../../src/kube/api/object.ts';
import type { Subnet } from '../../../src/networks/api/subnet.ts';
import { bridgeName } from '../../../src/networks/multus/cni-config.ts';

/** A CNI configuration for a Network's bridge as a user may write it: with a range, and with a VNI. */
export function forgedConfig(key: ObjectKey, { cidr, gateway, mtu }: Subnet, vni?: number): string {
  const ipam = { type: vni === undefined ? 'host-local' : 'envoy-initializer-ipam' };
  const plugin = {
    ...{ type: 'bridge', bridge: bridgeName(key), isGateway: true, forceAddress: true, ipMasq: true },
    ...{ hairpinMode: true, ...(mtu !== undefined && { mtu }), capabilities: { ips: true, mac: true } },
    ipam: { ...ipam, ranges: [[{ subnet: cidr, gateway }]], routes: [] },
    ...(vni !== undefined && { vni }),
  };
  return JSON.stringify({ cniVersion: '1.0.0', name: key.replace('/', '.'), plugins: [plugin] });
}
