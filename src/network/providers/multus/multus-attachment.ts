import { type KubeObject, keyOf, type OwnerReference } from '../../../kube/api/object.ts';
import { apiVersionOf } from '../../../kube/api/resource.ts';
import {
  FIELD_MANAGER,
  NETWORK_FINALIZER,
  NETWORK_LABEL,
  SHAPE_ANNOTATION,
  UID_ANNOTATION,
} from '../../api/names.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../../api/resources.ts';
import { isSubnet, pickSubnet, type Subnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import { cniConfig, isVni, type Mesh, meshIn } from './cni-config.ts';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';

/** The parts of an attachment that the operator owns. It does not touch other parts. */
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

/** The attachment of a Network; with a mesh, it spans all nodes. */
export function attachmentFor(network: Network, subnet: Subnet, mesh?: Mesh): WantedAttachment {
  const { name, namespace = '', uid = '' } = network.metadata;
  return {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITIONS),
    kind: NETWORK_ATTACHMENT_DEFINITIONS.kind,
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY_LABEL]: FIELD_MANAGER, [NETWORK_LABEL]: name },
      annotations: {
        [SHAPE_ANNOTATION]: JSON.stringify({ ...subnet, ...(mesh && { vni: mesh.vni }) }),
        [UID_ANNOTATION]: uid,
      },
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
    spec: { config: cniConfig(keyOf(network), { ...(mesh && { mtu: mesh.mtu }), ...subnet }, mesh?.vni) },
  };
}

/** The subnet that the operator recorded in the attachment; undefined if it is not readable. */
export function subnetIn(attachment: NetworkAttachmentDefinition): Subnet | undefined {
  const value = recorded(attachment);
  return isSubnet(value) ? pickSubnet(value) : undefined;
}

/** The recorded VXLAN identifier, for attachments of releases that did not write it into the status. */
export function vniIn(attachment: NetworkAttachmentDefinition): number | undefined {
  const value = recorded(attachment);
  const vni = typeof value === 'object' && value !== null && 'vni' in value ? value.vni : undefined;
  return isVni(vni) ? vni : meshIn(attachment.spec?.config)?.vni;
}

function recorded({ metadata }: NetworkAttachmentDefinition): unknown {
  try {
    return JSON.parse(metadata.annotations?.[SHAPE_ANNOTATION] ?? '');
  } catch {
    // A user has overwritten it; the next repair restores it.
    return undefined;
  }
}

/** The owner reference to a Network, this one or an earlier one of the same name. */
export function networkOwner({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, name }) =>
      kind === NETWORKS.kind && apiVersion.startsWith(`${NETWORKS.group}/`) && name === metadata.name,
  );
}

/** Whether the Network owns the object, or created it and a user removed the owner. */
export function isMadeFor(object: KubeObject, { metadata: { uid } }: Network): boolean {
  const { annotations, ownerReferences = [] } = object.metadata;
  const owner = networkOwner(object);
  if (owner) return owner.uid === uid;
  // An object has at most one controller.
  return (
    uid !== undefined &&
    annotations?.[UID_ANNOTATION] === uid &&
    !ownerReferences.some(({ controller }) => controller)
  );
}
