import { MAX_BYTES } from '../routing/left-out.ts';
import { ROUTES_FILE } from '../sidecar/envoy/routed.ts';
import { ROUTES_LABEL, type RoutesMap } from './resources.ts';

/** The state of the file in one namespace. */
export interface FileSituation {
  readonly text: string;
  readonly found: (RoutesMap & { readonly immutable?: boolean }) | undefined;
  /** Whether pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/**
 * What to do about the file in one namespace. It is never deleted: pods may start while no operator runs. A ConfigMap
 * without the label is a user’s own.
 */
export function planFile({
  text,
  found,
  isNeeded,
}: FileSituation): 'create' | 'update' | 'nothing' | 'in-place' | 'foreign' | 'immutable' | 'too-large' {
  const before = found?.data?.[ROUTES_FILE];
  const size = Buffer.byteLength(text);
  const isTooLarge = size > MAX_BYTES && size > Buffer.byteLength(before ?? '');
  if (found === undefined) {
    if (!isNeeded) return 'nothing';
    return isTooLarge ? 'too-large' : 'create';
  }
  if (found.metadata.labels?.[ROUTES_LABEL] === undefined) return 'foreign';
  if (found.metadata.deletionTimestamp !== undefined) return 'nothing';
  if (before === text && Object.keys(found.data ?? {}).length === 1) return 'in-place';
  if (found.immutable === true) return 'immutable';
  return isTooLarge ? 'too-large' : 'update';
}
