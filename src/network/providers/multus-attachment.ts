import { createHash } from 'node:crypto';
import { type KubeObject, keyOf, type ObjectKey, type OwnerReference } from '../../kube/object.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER } from '../names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS, type NetworkAttachmentDefinition } from '../resources.ts';
import type { Shape } from '../shape.ts';
import type { Network } from '../types.ts';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
const NETWORK_LABEL = 'samplecrd.k8s.io/network';
/** The shape that we gave it: the CNI configuration itself may have been edited by anybody. */
const SHAPE_ANNOTATION = 'samplecrd.k8s.io/network-shape';

/** The parts of an attachment that are ours; whatever else is on it is left alone. */
export interface WantedAttachment extends NetworkAttachmentDefinition {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly finalizers: readonly string[];
    readonly ownerReferences: readonly OwnerReference[];
  };
  readonly spec: { readonly config: string };
}

/** The attachment that makes the network real, as it is created. */
export function attachmentFor(network: Network, shape: Shape): WantedAttachment {
  const { name, namespace = '', uid = '' } = network.metadata;
  return {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITIONS),
    kind: NETWORK_ATTACHMENT_DEFINITIONS.kind,
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY_LABEL]: FIELD_MANAGER, [NETWORK_LABEL]: name },
      annotations: { [SHAPE_ANNOTATION]: JSON.stringify(shape) },
      finalizers: [NETWORK_FINALIZER],
      ownerReferences: [
        {
          apiVersion: apiVersionOf(NETWORKS),
          kind: NETWORKS.kind,
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { config: JSON.stringify(cniConfig(`${namespace}.${name}`, bridgeName(keyOf(network)), shape)) },
  };
}

/**
 * A bridge on the node, and addresses of the range from host-local (CNI specification 1.0.0). `ips` and `mac` let a
 * pod choose its own. `forceAddress`: bridges outlive their networks, and one that had another gateway must take the
 * new one. No routes: this is a pod's second interface, its default route stays where it is.
 */
function cniConfig(name: string, bridge: string, { cidr, gateway, mtu }: Shape): object {
  return {
    cniVersion: '1.0.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        forceAddress: true,
        ipMasq: true,
        hairpinMode: true,
        ...(mtu !== undefined && { mtu }),
        capabilities: { ips: true, mac: true },
        ipam: { type: 'host-local', ranges: [[{ subnet: cidr, gateway }]], routes: [] },
      },
    ],
  };
}

/**
 * The bridge's name on the nodes: 15 characters, the most that Linux takes. Of the key and not the UID, so that a
 * Network that is deleted and made again finds the bridge it left behind instead of a second one with its addresses.
 */
export function bridgeName(key: ObjectKey): string {
  return `nw-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}

/** The shape that we gave the attachment; undefined where that is not to be read from it any more. */
export function shapeIn({ metadata }: NetworkAttachmentDefinition): Shape | undefined {
  try {
    const value: unknown = JSON.parse(metadata.annotations?.[SHAPE_ANNOTATION] ?? '');
    return isShape(value) ? value : undefined;
  } catch {
    // Somebody has written over it; the next repair writes it anew.
    return undefined;
  }
}

/** The reference to the Network that made the object, this one or an earlier one of its name. */
export function networkOwner({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, name }) =>
      kind === NETWORKS.kind && apiVersion.startsWith(`${NETWORKS.group}/`) && name === metadata.name,
  );
}

function isShape(value: unknown): value is Shape {
  if (typeof value !== 'object' || value === null) return false;
  if (!('cidr' in value && 'gateway' in value)) return false;
  const mtu = 'mtu' in value ? value.mtu : undefined;
  return (
    typeof value.cidr === 'string' &&
    typeof value.gateway === 'string' &&
    (mtu === undefined || typeof mtu === 'number')
  );
}
