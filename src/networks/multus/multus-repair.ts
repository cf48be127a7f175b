import { isDeepStrictEqual } from 'node:util';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { KubeObject, OwnerReference } from '../../kube/api/object.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER, UID_ANNOTATION } from '../api/names.ts';
import type { NetworkAttachmentDefinition } from '../api/resources.ts';
import { MANAGED_BY_LABEL, networkOwner, type WantedAttachment } from './multus-attachment.ts';

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
