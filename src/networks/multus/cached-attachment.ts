import { identityOf } from '../../kube/api/object.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
import { NETWORK_LABEL, UID_ANNOTATION } from '../api/names.ts';
import type { NetworkAttachmentDefinition } from '../api/resources.ts';
import { MANAGED_BY_LABEL } from './multus-attachment.ts';

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
