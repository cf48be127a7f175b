import type { Result } from '../../kube/controller/controller.ts';

/** Requeues after the shortest of these times, in milliseconds. */
export function soonest(...times: readonly (number | undefined)[]): Result {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? {} : { requeueAfterMs: Math.min(...known) };
}
