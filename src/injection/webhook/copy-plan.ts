import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { canonicalJson } from '../../util/json.ts';

/** The label of every copy. */
export const COPY_LABEL = 'initializer.kubernetes.io/copy-of';
/** The field manager of copies. A copy whose data another manager writes belongs to that manager. */
export const COPY_MANAGER = 'envoy-initializer-copies';

/** A ConfigMap with the part of `managedFields` that names the writers of its data. */
export interface ManagedConfigMap extends ConfigMap {
  readonly metadata: KubeObject['metadata'] & {
    readonly managedFields?: readonly { readonly manager?: string; readonly fieldsV1?: object }[];
  };
}

/** The state of one namespace. */
export interface CopySituation {
  /** The ConfigMap to copy; undefined if it does not exist. */
  readonly source: ConfigMap | undefined;
  /** The ConfigMap of that name in the namespace. */
  readonly found: ManagedConfigMap | undefined;
  /** Whether pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/**
 * What to do about the copy in one namespace. Never changes a user's own ConfigMap, even if it started as a copy.
 * Keeps copies in sync with their source and never deletes one: pods that are not in the cache yet may need it.
 */
export function planCopy({ source, found, isNeeded }: CopySituation): 'create' | 'update' | 'nothing' {
  if (source === undefined) return 'nothing';
  if (found === undefined) return isNeeded ? 'create' : 'nothing';
  return isCopy(found) && !sameData(source, found) ? 'update' : 'nothing';
}

/** Whether the ConfigMap is a copy whose data only the operator has written. */
export function isCopy({ metadata }: ManagedConfigMap): boolean {
  if (metadata.labels?.[COPY_LABEL] === undefined || metadata.deletionTimestamp !== undefined) return false;
  return (metadata.managedFields ?? []).every(
    ({ manager, fieldsV1 = {} }) => manager === COPY_MANAGER || !('f:data' in fieldsV1),
  );
}

function sameData(a: ConfigMap, b: ConfigMap): boolean {
  return canonicalJson(a.data ?? {}) === canonicalJson(b.data ?? {});
}
