import type { KubeObject } from '../../../kube/api/object.ts';
import type { RouteFile } from '../compile/route-configuration.ts';
import { ROUTES_LABEL } from './resources.ts';

/** The state of the file in one namespace. */
export interface FileSituation {
  readonly file: Pick<RouteFile, 'version'>;
  readonly found: FoundFile | undefined;
  /** Whether pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/** What is known of a ConfigMap. Its text may have 1 MB, so it is not kept. */
export interface FoundFile extends KubeObject {
  /** Of the file, if this operator wrote or compared it, and there is no other file beside it. */
  readonly version: string | undefined;
  readonly isImmutable: boolean;
}

/**
 * What to do about the file in one namespace. It is never deleted: pods may start while no operator runs. A ConfigMap
 * without the label is a user’s own.
 */
export function planFile({
  file: { version },
  found,
  isNeeded,
}: FileSituation): 'create' | 'update' | 'nothing' | 'in-place' | 'foreign' | 'immutable' {
  if (found === undefined) return isNeeded ? 'create' : 'nothing';
  if (found.metadata.labels?.[ROUTES_LABEL] === undefined) return 'foreign';
  if (found.metadata.deletionTimestamp !== undefined) return 'nothing';
  if (found.version === version) return 'in-place';
  if (found.isImmutable) return 'immutable';
  return 'update';
}
