import { isDeepStrictEqual } from 'node:util';
import jsonpatch, { type Operation } from 'fast-json-patch';
import { identityOf, type KubeObject, keyOf, type OwnerReference } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
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

/** In characters, which is much more than the operator writes. */
const MAX_TEXT = 4 * 1024;

const shared = new SharedValues();
const LABELS = [MANAGED_BY_LABEL, NETWORK_LABEL];
const ANNOTATIONS = [UID_ANNOTATION];

/**
 * The part of a NetworkAttachmentDefinition that a cache keeps. A value of the operator that is too long becomes
 * empty, so that it is repaired like any other edit. All finalizers and owners stay, because patches use their index.
 */
export function cachedAttachment(attachment: NetworkAttachmentDefinition): NetworkAttachmentDefinition {
  const { deletionTimestamp, finalizers, ownerReferences, labels, annotations } = attachment.metadata;
  const config = attachment.spec?.config;
  return {
    metadata: {
      ...identityOf(attachment),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers !== undefined && { finalizers: shared.within(finalizers) }),
      ...(ownerReferences !== undefined && { ownerReferences: shared.within(ownerReferences) }),
      // Keep a map even if it has only foreign keys, so that a patch does not replace it.
      ...(labels !== undefined && { labels: shared.within(picked(labels, LABELS)) }),
      ...(annotations !== undefined && { annotations: picked(annotations, ANNOTATIONS) }),
    },
    ...(attachment.spec !== undefined && { spec: config === undefined ? {} : { config: bounded(config) } }),
  };
}

function picked(entries: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = Object.hasOwn(entries, key) ? entries[key] : undefined;
      return value === undefined ? [] : [[key, bounded(value)]];
    }),
  );
}

function bounded(text: string): string {
  return text.length > MAX_TEXT ? '' : text;
}

const UID_PATH = `/metadata/annotations/${jsonpatch.escapePathComponent(UID_ANNOTATION)}`;

/** The patch that restores the operator's parts of an attachment; empty without differences. */
export function repairOf(
  actual: NetworkAttachmentDefinition,
  wanted: WantedAttachment,
): readonly Operation[] {
  const { metadata } = actual;
  const changes = [
    ...entryRepairs('/metadata/labels', metadata.labels, wanted.metadata.labels),
    ...entryRepairs('/metadata/annotations', metadata.annotations, wanted.metadata.annotations),
    ...wanted.metadata.finalizers.flatMap((finalizer) => finalizerRepair(metadata.finalizers, finalizer)),
    ...wanted.metadata.ownerReferences.flatMap((owner) => ownerRepair(metadata.ownerReferences, owner)),
    ...configRepair(actual, wanted.spec),
  ];
  return changes.length === 0 ? [] : [testUid(actual), ...changes];
}

/** Whether the repair undoes a user's edit. Otherwise it adds what an earlier release did not write. */
export function undoesAnEdit(repair: readonly Operation[]): boolean {
  return repair.some(({ op, path }) => op !== 'test' && path !== UID_PATH);
}

/** The patch that removes owner, finalizer and label, so that the attachment outlives its Network. */
export function disownmentOf(actual: NetworkAttachmentDefinition): readonly Operation[] {
  const { finalizers = [], ownerReferences = [], labels } = actual.metadata;
  const finalizer = finalizers.indexOf(NETWORK_FINALIZER);
  const owner = ownerReferences.findIndex(({ uid }) => uid === networkOwner(actual)?.uid);
  const changes: Operation[] = [
    ...(finalizer < 0 ? [] : testedRemoval(`/metadata/finalizers/${finalizer}`, NETWORK_FINALIZER)),
    ...(owner < 0 ? [] : testedRemoval(`/metadata/ownerReferences/${owner}`, ownerReferences[owner])),
    ...(labels?.[MANAGED_BY_LABEL] === FIELD_MANAGER
      ? testedRemoval(`/metadata/labels/${jsonpatch.escapePathComponent(MANAGED_BY_LABEL)}`, FIELD_MANAGER)
      : []),
  ];
  return changes.length === 0 ? [] : [testUid(actual), ...changes];
}

function testUid({ metadata }: KubeObject): Operation {
  return { op: 'test', path: '/metadata/uid', value: metadata.uid };
}

function testedRemoval(path: string, value: unknown): Operation[] {
  return [
    { op: 'test', path, value },
    { op: 'remove', path },
  ];
}

function entryRepairs(
  path: string,
  actual: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): Operation[] {
  if (!actual) return [{ op: 'add', path, value: wanted }];
  return Object.entries(wanted)
    .filter(([key, value]) => actual[key] !== value)
    .map(([key, value]) => ({ op: 'add', path: `${path}/${jsonpatch.escapePathComponent(key)}`, value }));
}

function finalizerRepair(actual: readonly string[] | undefined, finalizer: string): Operation[] {
  if (!actual) return [{ op: 'add', path: '/metadata/finalizers', value: [finalizer] }];
  return actual.includes(finalizer) ? [] : [{ op: 'add', path: '/metadata/finalizers/-', value: finalizer }];
}

/** Restores an edited or removed reference. */
function ownerRepair(actual: readonly OwnerReference[] | undefined, wanted: OwnerReference): Operation[] {
  if (!actual) return [{ op: 'add', path: '/metadata/ownerReferences', value: [wanted] }];
  const index = actual.findIndex(({ uid }) => uid === wanted.uid);
  if (index < 0) return [{ op: 'add', path: '/metadata/ownerReferences/-', value: wanted }];
  if (isDeepStrictEqual({ ...actual[index] }, wanted)) return [];
  const path = `/metadata/ownerReferences/${index}`;
  return [
    { op: 'test', path: `${path}/uid`, value: wanted.uid },
    { op: 'replace', path, value: wanted },
  ];
}

function configRepair({ spec }: NetworkAttachmentDefinition, wanted: WantedAttachment['spec']): Operation[] {
  if (!spec) return [{ op: 'add', path: '/spec', value: wanted }];
  return saysTheSame(spec.config, wanted.config)
    ? []
    : [{ op: 'add', path: '/spec/config', value: wanted.config }];
}

/** Whether both are the same JSON value. */
function saysTheSame(actual: string | undefined, wanted: string): boolean {
  if (actual === wanted) return true;
  try {
    return isDeepStrictEqual(JSON.parse(actual ?? ''), JSON.parse(wanted));
  } catch {
    return false;
  }
}
