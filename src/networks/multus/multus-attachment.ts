import { type KubeObject, keyOf, type OwnerReference } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER, NETWORK_LABEL, UID_ANNOTATION } from '../api/names.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { cniConfig, isForBridgeOf } from './cni-config.ts';

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

/** The attachment of a Network to bridges. It has no addresses, and nothing that node agents read. */
export function attachmentFor(network: Network, mtu: number | undefined, isShared = false): WantedAttachment {
  return attachmentWith(network, cniConfig(keyOf(network), mtu, isShared));
}

/** The attachment of a Network with this CNI configuration, as JSON. */
export function attachmentWith(network: Network, config: string): WantedAttachment {
  const { name, namespace = '', uid = '' } = network.metadata;
  return {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITIONS),
    kind: NETWORK_ATTACHMENT_DEFINITIONS.kind,
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_BY_LABEL]: FIELD_MANAGER, [NETWORK_LABEL]: name },
      annotations: { [UID_ANNOTATION]: uid },
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
    spec: { config },
  };
}

/** The owner reference to a Network, this one or an earlier one of the same name. */
export function networkOwner({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, name }) =>
      kind === NETWORKS.kind && apiVersion.startsWith(`${NETWORKS.group}/`) && name === metadata.name,
  );
}

/**
 * Whether the Network owns the definition, or the operator made it for this Network and a user removed the owner: then
 * the annotation or the text shows it. A definition that an earlier Network of this name left behind is not adopted,
 * unless a user removes the annotation, as with a PersistentVolume and its claimRef.
 */
export function isMadeFor(attachment: NetworkAttachmentDefinition, network: Network): boolean {
  const { ownerReferences = [] } = attachment.metadata;
  const { uid } = network.metadata;
  const owner = networkOwner(attachment);
  if (owner) return owner.uid === uid;
  // An object has at most one controller.
  if (uid === undefined || ownerReferences.some(({ controller }) => controller)) return false;
  const madeFor = madeForUid(attachment);
  if (madeFor === uid) return true;
  // A Network that was realised had this name to itself, so the annotation is a user's edit.
  const isFree = madeFor === undefined || network.status?.cidr !== undefined;
  return isFree && isForBridgeOf(keyOf(network), attachment.spec?.config);
}

/** The UID of the Network for which the operator created the definition. */
export function madeForUid({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[UID_ANNOTATION];
}
