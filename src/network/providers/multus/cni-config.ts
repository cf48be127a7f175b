import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../../kube/api/object.ts';
import { SLICE_IPAM } from '../../api/names.ts';
import type { Subnet } from '../../api/subnet.ts';
import { gatewayProblem, parseRange, type Range } from '../../ipam/cidr.ts';
import { digestOf } from '../../nodes/node-table.ts';

/** 1500 bytes of Ethernet without the 70 that VXLAN adds where nodes reach each other by IPv6 (RFC 7348 section 5). */
export const SMALLEST_MESH_MTU = 1430;
/** The same by IPv4, where it adds 50. */
export const MESH_MTU = 1450;
/** VNIs have 24 bits. The lower half is left to others: what else makes VXLANs on nodes begins with 1, or with 4096. */
export const FIRST_VNI = 2 ** 23;
export const VNI_COUNT = 2 ** 23;

/** A Network whose bridges are joined over the nodes. */
export interface MeshNetwork {
  readonly key: ObjectKey;
  readonly bridge: string;
  readonly vni: number;
  /** In bytes. */
  readonly mtu: number;
  readonly range: Range;
  readonly gateway: string;
  /** Of the configuration: tells this one from what it was before. */
  readonly digest: string;
}

/**
 * The CNI configuration that makes a Network real, as JSON: a bridge on the node, and addresses of the range from
 * host-local (CNI specification 1.0.0). `ips` and `mac` let a pod choose its own. `forceAddress`: bridges outlive their
 * networks, and one that had another gateway must take the new one. No routes: this is a pod's second interface, its
 * default route stays where it is. With a VNI, the node agents join the bridges of all nodes, and give each its slice.
 */
export function cniConfig(key: ObjectKey, { cidr, gateway, mtu }: Subnet, vni?: number): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: key.replace('/', '.'),
    plugins: [
      {
        type: 'bridge',
        bridge: bridgeName(key),
        isGateway: true,
        forceAddress: true,
        ipMasq: true,
        hairpinMode: true,
        ...(mtu !== undefined && { mtu }),
        capabilities: { ips: true, mac: true },
        ipam: {
          type: vni === undefined ? 'host-local' : SLICE_IPAM,
          ranges: [[{ subnet: cidr, gateway }]],
          routes: [],
        },
        ...(vni !== undefined && { vni }),
      },
    ],
  });
}

/**
 * The bridge's name on the nodes: 15 characters, the most that Linux takes. Of the key and not the UID, so that a
 * Network that is deleted and made again finds the bridge it left behind instead of a second one with its addresses.
 */
export function bridgeName(key: ObjectKey): string {
  return `nw-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}

/** What joins the bridges of a Network over the nodes. */
export interface Mesh {
  readonly vni: number;
  /** In bytes, where the Network does not say. */
  readonly mtu: number;
}

/** A Network of this subnet as agents join it; undefined for a subnet that is none. */
export function meshNetwork(key: ObjectKey, subnet: Subnet, mesh: Mesh): MeshNetwork | undefined {
  const { cidr, gateway, mtu = mesh.mtu } = subnet;
  const range = parseRange(cidr);
  if (!range || gatewayProblem(gateway, range)) return undefined;
  const digest = digestOf(cniConfig(key, { cidr, gateway, mtu }, mesh.vni));
  return { key, bridge: bridgeName(key), vni: mesh.vni, mtu, range, gateway, digest };
}

/** What the CNI configuration says of how the nodes are joined: for what was made before the status told. */
export function meshIn(config: string | undefined): Mesh | undefined {
  const { vni, mtu } = firstPlugin(config);
  return isVni(vni) && typeof mtu === 'number' ? { vni, mtu } : undefined;
}

/** Whether it is one that we give out. */
export function isVni(value: unknown): value is number {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= FIRST_VNI &&
    value < FIRST_VNI + VNI_COUNT
  );
}

function firstPlugin(config = ''): Readonly<Record<string, unknown>> {
  try {
    const { plugins } = record(JSON.parse(config));
    return record(Array.isArray(plugins) ? plugins[0] : undefined);
  } catch {
    return {};
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
