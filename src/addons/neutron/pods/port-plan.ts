import ipaddr from 'ipaddr.js';
import { type KubeObject, keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import { NODE_OVS, PORT_KEY, SECURITY_GROUPS_KEY } from '../../../networks/api/names.ts';
import type { Network } from '../../../networks/api/types.ts';
import { ipsOf } from '../../../networks/pods/selection.ts';
import type { Refusal } from '../../../networks/providers.ts';
import { isObject, type JsonObject, own, ownString, ownTexts } from '../../../util/json.ts';
import { OpenStackError } from '../openstack/error.ts';
import type { NeutronPort, NeutronSubnet } from '../resources.ts';

/** The owner of ports that the operator has made for pods. It deletes them with their pods. */
export const POD_OWNER = 'envoy-initializer:pod';
/** The owner of a user's ports while pods use them. The operator releases them, and does not delete them. */
export const BORROWER = 'envoy-initializer:user-port';

/** The pod of a port of the operator; undefined for other ports. */
export function podOf({ owner, description, device }: NeutronPort) {
  if (owner !== POD_OWNER && owner !== BORROWER) return undefined;
  const [, key] = /^Kubernetes Pod ([a-z0-9.-]+\/[a-z0-9.-]+)$/.exec(description) ?? [];
  return key !== undefined && device !== '' ? { key, uid: device } : undefined;
}

/** The marks of a pod on its port. */
export function marksOf(pod: KubeObject, owner: string) {
  return {
    device_id: pod.metadata.uid ?? '',
    device_owner: owner,
    description: `Kubernetes Pod ${keyOf(pod)}`,
  };
}

/** What a pod asks for on a Network, as a new port of this network in Neutron. */
export function portFor(pod: KubeObject, networkId: string, asked: JsonObject) {
  const ips = ipsOf(asked).map((ip) => ip.replace(/\/.*$/, ''));
  const mac = ownString(asked, 'mac');
  const groups = ownTexts(asked, SECURITY_GROUPS_KEY);
  return {
    network_id: networkId,
    name: keyOf(pod),
    ...marksOf(pod, POD_OWNER),
    ...(ips.length > 0 && { fixed_ips: ips.map((ip) => ({ ip_address: ip })) }),
    ...(mac !== undefined && { mac_address: mac.toLowerCase() }),
    ...(groups.length > 0 && { security_groups: groups }),
  };
}

/** What the pod asks for that a port cannot have; undefined if it can. */
export function impossible(network: ObjectKey, asked: JsonObject): Refusal | undefined {
  const fixed = ['ips', 'mac', SECURITY_GROUPS_KEY].filter((key) => own(asked, key) !== undefined);
  if (ownString(asked, PORT_KEY) !== undefined && fixed.length > 0) {
    const why = `"${PORT_KEY}" on Network ${network} excludes ${fixed.join(', ')}: keep one or the other`;
    return { reason: 'InvalidNetworkAnnotation', why };
  }
  return undefined;
}

/**
 * The options of the interface in Multus' annotation: addresses with the prefix lengths of their subnets, the MAC
 * address, and the ID of the port for ovs-cni. Undefined while a subnet of the port is unknown.
 */
export function optionsOf(
  { id, mac, addresses }: NeutronPort,
  subnets: readonly NeutronSubnet[],
  asked: JsonObject,
): JsonObject | undefined {
  const ips = addresses.map(({ subnetId, address }) => {
    const cidr = subnets.find((subnet) => subnet.id === subnetId)?.cidr;
    const prefix = cidr === undefined || !ipaddr.isValidCIDR(cidr) ? undefined : ipaddr.parseCIDR(cidr)[1];
    return prefix === undefined ? undefined : `${address}/${prefix}`;
  });
  if (!ips.every((ip) => ip !== undefined)) return undefined;
  const args = own(asked, 'cni-args');
  return { ips, mac, 'cni-args': { ...(isObject(args) && args), OvnPort: id } };
}

/** Neutron's names of errors for a request that it will not accept as it is (neutron_lib/exceptions). */
const EXHAUSTED: ReadonlySet<string> = new Set([
  'IpAddressGenerationFailure',
  'IpAddressGenerationFailureNoMatchingSubnet',
]);
const TAKEN: ReadonlySet<string> = new Set([
  'IpAddressAlreadyAllocated',
  'IpAddressInUse',
  'MacAddressInUse',
]);
/** The retry interval of what only a change in Neutron can solve. */
const REFUSED_RETRY_MS = 10_000;

/** Whether the refusal of a port would meet other pods, too: a quota, or a missing right. */
export function isOfAll(error: unknown): boolean {
  return error instanceof OpenStackError && (error.type === 'OverQuota' || error.status === 403);
}

/** Why Neutron refuses a port for a pod; undefined for errors that are not about the pod. */
export function refusalOf(error: unknown, network: ObjectKey): Refusal | undefined {
  if (!(error instanceof OpenStackError)) return undefined;
  const { status, type, message } = error;
  const waits = { retryAfterMs: REFUSED_RETRY_MS };
  if (EXHAUSTED.has(type)) {
    const why = `Network ${network} has no free address in Neutron: delete pods or ports on it, or use another Network`;
    return { reason: 'AddressesExhausted', why, ...waits };
  }
  if (TAKEN.has(type)) return { reason: 'WaitsForNetwork', why: message, ...waits };
  // A quota, a missing right, an address outside of the subnet, an unknown security group.
  if ([400, 403, 404, 409].includes(status)) return { reason: 'PortRefused', why: message, ...waits };
  return undefined;
}

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
