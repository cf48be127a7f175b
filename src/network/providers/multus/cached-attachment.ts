import { identityOf } from '../../../kube/api/object.ts';
import { NETWORK_LABEL, SHAPE_ANNOTATION, UID_ANNOTATION } from '../../api/names.ts';
import type { NetworkAttachmentDefinition } from '../../api/resources.ts';
import { MANAGED_BY_LABEL } from './multus-attachment.ts';

/** In characters: by far more than anything that we write. */
const MAX_TEXT = 4 * 1024;

const LABELS = [MANAGED_BY_LABEL, NETWORK_LABEL];
const ANNOTATIONS = [SHAPE_ANNOTATION, UID_ANNOTATION];

/**
 * What a cache keeps of a NetworkAttachmentDefinition: nothing else of it is read. What is there by our name and too long
 * to be ours is kept as empty, so that it is repaired like any other edit. Finalizers and owners are all kept: patches name
 * their places.
 */
export function cachedAttachment(attachment: NetworkAttachmentDefinition): NetworkAttachmentDefinition {
  const { deletionTimestamp, finalizers, ownerReferences, labels, annotations } = attachment.metadata;
  const config = attachment.spec?.config;
  return {
    metadata: {
      ...identityOf(attachment),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      // Where there are some of others, a patch must not put ours in the place of all.
      ...(labels !== undefined && { labels: picked(labels, LABELS) }),
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
