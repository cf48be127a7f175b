import { canonicalJson } from '../json/json.ts';
import type { ConfigMap } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';

/** On every ConfigMap that was copied. */
export const COPY_LABEL = 'initializer.kubernetes.io/copy-of';
/** The field manager that copies are written by: whoever else writes their data takes them over. */
export const COPY_MANAGER = 'envoy-initializer-copies';

/** A ConfigMap with the part of `managedFields` that tells who has written its data. */
export interface ManagedConfigMap extends ConfigMap {
  readonly metadata: KubeObject['metadata'] & {
    readonly managedFields?: readonly { readonly manager?: string; readonly fieldsV1?: object }[];
  };
}

/** What there is about one namespace. */
export interface CopySituation {
  /** The ConfigMap to be copied; undefined where there is none. */
  readonly source: ConfigMap | undefined;
  /** The one of its name in the namespace. */
  readonly found: ManagedConfigMap | undefined;
  /** Pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/**
 * What to do about the copy in one namespace. A user's own ConfigMap is never touched, also when it began as a copy of
 * ours; a copy that is there follows its source, and is never removed: pods may need it that are not seen yet.
 */
export function planCopy({ source, found, isNeeded }: CopySituation): 'create' | 'update' | 'nothing' {
  if (source === undefined) return 'nothing';
  if (found === undefined) return isNeeded ? 'create' : 'nothing';
  return isCopy(found) && !sameData(source, found) ? 'update' : 'nothing';
}

/** Whether it is a copy, made here and written by nobody else since. */
export function isCopy({ metadata }: ManagedConfigMap): boolean {
  if (metadata.labels?.[COPY_LABEL] === undefined || metadata.deletionTimestamp !== undefined) return false;
  return (metadata.managedFields ?? []).every(
    ({ manager, fieldsV1 = {} }) => manager === COPY_MANAGER || !('f:data' in fieldsV1),
  );
}

function sameData(a: ConfigMap, b: ConfigMap): boolean {
  return canonicalJson(a.data ?? {}) === canonicalJson(b.data ?? {});
}
