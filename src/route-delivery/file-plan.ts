import type { KubeObject } from '../kube/api/object.ts';
import { MAX_BYTES } from '../routing/left-out.ts';
import type { RouteFile } from '../routing/route-configuration.ts';
import { ROUTES_LABEL } from './resources.ts';

/** The state of the file in one namespace. */
export interface FileSituation {
  readonly file: Pick<RouteFile, 'bytes' | 'version'>;
  readonly found: FoundFile | undefined;
  /** Whether pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/** What is known of a ConfigMap. Its text may have 900 kB, so it is not kept. */
export interface FoundFile extends KubeObject {
  /** Of the file, if this operator wrote or compared it, and there is no other file beside it. */
  readonly version: string | undefined;
  /** Of the file. */
  readonly bytes: number;
  readonly isImmutable: boolean;
}

/**
 * What to do about the file in one namespace. It is never deleted: pods may start while no operator runs. A ConfigMap
 * without the label is a user’s own.
 */
export function planFile({
  file: { bytes, version },
  found,
  isNeeded,
}: FileSituation): 'create' | 'update' | 'nothing' | 'in-place' | 'foreign' | 'immutable' | 'too-large' {
  const isTooLarge = bytes > MAX_BYTES && bytes > (found?.bytes ?? 0);
  if (found === undefined) {
    if (!isNeeded) return 'nothing';
    return isTooLarge ? 'too-large' : 'create';
  }
  if (found.metadata.labels?.[ROUTES_LABEL] === undefined) return 'foreign';
  if (found.metadata.deletionTimestamp !== undefined) return 'nothing';
  if (found.version === version) return 'in-place';
  if (found.isImmutable) return 'immutable';
  return isTooLarge ? 'too-large' : 'update';
}
