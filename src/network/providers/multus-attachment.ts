import { type KubeObject, keyOf, type OwnerReference } from '../../kube/object.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { cniConfig, isVni } from '../cni-config.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER } from '../names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS, type NetworkAttachmentDefinition } from '../resources.ts';
import type { Shape } from '../shape.ts';
import type { Network } from '../types.ts';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
const NETWORK_LABEL = 'samplecrd.k8s.io/network';
/** The shape that we gave it: the CNI configuration itself may have been edited by anybody. */
const SHAPE_ANNOTATION = 'samplecrd.k8s.io/network-shape';

/** What joins the bridges of a Network over the nodes. */
export interface Mesh {
  readonly vni: number;
  /** In bytes, where the Network does not say. */
  readonly mtu: number;
}

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

/** The attachment that makes the network real, as it is created; with a mesh, one that is joined over the nodes. */
export function attachmentFor(network: Network, shape: Shape, mesh?: Mesh): WantedAttachment {
  const { name, namespace = '', uid = '' } = network.metadata;
  return {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITIONS),
    kind: NETWORK_ATTACHMENT_DEFINITIONS.kind,
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY_LABEL]: FIELD_MANAGER, [NETWORK_LABEL]: name },
      annotations: { [SHAPE_ANNOTATION]: JSON.stringify({ ...shape, ...(mesh && { vni: mesh.vni }) }) },
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
    spec: { config: cniConfig(keyOf(network), { ...(mesh && { mtu: mesh.mtu }), ...shape }, mesh?.vni) },
  };
}

/** The shape that we gave the attachment; undefined where that is not to be read from it any more. */
export function shapeIn(attachment: NetworkAttachmentDefinition): Shape | undefined {
  const value = recorded(attachment);
  if (!isShape(value)) return undefined;
  const { cidr, gateway, mtu } = value;
  return { cidr, gateway, ...(mtu !== undefined && { mtu }) };
}

/** The VXLAN identifier that we gave it; undefined where it is on each node apart. */
export function vniIn(attachment: NetworkAttachmentDefinition): number | undefined {
  const value = recorded(attachment);
  const vni = typeof value === 'object' && value !== null && 'vni' in value ? value.vni : undefined;
  return isVni(vni) ? vni : undefined;
}

function recorded({ metadata }: NetworkAttachmentDefinition): unknown {
  try {
    return JSON.parse(metadata.annotations?.[SHAPE_ANNOTATION] ?? '');
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
