import { isDeepStrictEqual } from 'node:util';
import { identityOf, type KubeObject, keyOf, type OwnerReference } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER, NETWORK_LABEL, UID_ANNOTATION } from '../api/names.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
  type WantedAttachment,
} from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { bridgeName } from './cni-config.ts';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';

/** The attachment of a Network with this configuration. It has no addresses, and nothing that node agents read. */
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
  const { uid } = network.metadata;
  const owner = networkOwner(attachment);
  if (owner) return owner.uid === uid;
  // An object has at most one controller.
  if (attachment.metadata.ownerReferences?.some(({ controller }) => controller)) return false;
  const madeFor = madeForUid(attachment);
  if (madeFor !== undefined && madeFor === uid) return true;
  // A Network that was realised had this name to itself, so the annotation is a user's edit.
  const isFree = madeFor === undefined || network.status?.cidr !== undefined;
  return isFree && (attachment.spec?.config ?? '').includes(`"bridge":"${bridgeName(keyOf(network))}"`);
}

export function madeForUid({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[UID_ANNOTATION];
}

/** In characters, which is much more than the operator writes. */
const MAX_TEXT = 4 * 1024;

const shared = new SharedValues();
const LABELS = [MANAGED_BY_LABEL, NETWORK_LABEL];
const ANNOTATIONS = [UID_ANNOTATION];

/**
 * The part of a NetworkAttachmentDefinition that a cache keeps. A value of the operator that is too long becomes
 * empty, so that it is repaired like any other edit. All finalizers and owners stay, because patches replace the lists.
 */
export function cachedAttachment(attachment: NetworkAttachmentDefinition): NetworkAttachmentDefinition {
  const { finalizers, ownerReferences, labels, annotations } = attachment.metadata;
  const config = attachment.spec?.config;
  return {
    metadata: {
      ...identityOf(attachment, 'deletionTimestamp'),
      ...(finalizers !== undefined && { finalizers: shared.within(finalizers) }),
      ...(ownerReferences !== undefined && { ownerReferences: shared.within(ownerReferences) }),
      ...(labels !== undefined && { labels: shared.within(picked(labels, LABELS)) }),
      ...(annotations !== undefined && { annotations: picked(annotations, ANNOTATIONS) }),
    },
    ...(config !== undefined && { spec: { config: bounded(config) } }),
  };
}

function picked(entries: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> {
  const own = Object.entries(entries).filter(([key]) => keys.includes(key));
  return Object.fromEntries(own.map(([key, value]) => [key, bounded(value)]));
}

function bounded(text: string): string {
  return text.length > MAX_TEXT ? '' : text;
}

export function isAsWanted(actual: NetworkAttachmentDefinition, wanted: WantedAttachment): boolean {
  const { labels, annotations, finalizers, ownerReferences } = actual.metadata;
  const has = (entries: typeof labels, all: Readonly<Record<string, string>>) =>
    Object.entries(all).every(([key, value]) => entries?.[key] === value);
  return (
    has(labels, wanted.metadata.labels) &&
    has(annotations, wanted.metadata.annotations) &&
    wanted.metadata.finalizers.every((each) => finalizers?.includes(each)) &&
    wanted.metadata.ownerReferences.every((owner) =>
      ownerReferences?.some((each) => isDeepStrictEqual({ ...each }, owner)),
    ) &&
    actual.spec?.config === wanted.spec.config
  );
}

/** The merge patch that removes owner, finalizer and label, so that the attachment outlives its Network; undefined if none is there. */
export function disownmentOf(actual: NetworkAttachmentDefinition): object | undefined {
  const { resourceVersion, finalizers = [], ownerReferences = [], labels } = actual.metadata;
  const owner = networkOwner(actual);
  const isManaged = labels?.[MANAGED_BY_LABEL] === FIELD_MANAGER;
  if (!owner && !isManaged && !finalizers.includes(NETWORK_FINALIZER)) return undefined;
  return {
    metadata: {
      resourceVersion,
      finalizers: finalizers.filter((each) => each !== NETWORK_FINALIZER),
      ownerReferences: ownerReferences.filter((each) => each !== owner),
      ...(isManaged && { labels: { [MANAGED_BY_LABEL]: null } }),
    },
  };
}
