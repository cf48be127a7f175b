import { ApiError } from '../../../src/kube/api/api-error.ts';
import { isWatch, type ProxiedRequest, versionAskedFor } from './fault-proxy.ts';

/** A watch failed with this when so many requests had come by. */
export interface WatchFailure {
  readonly error: unknown;
  readonly after: number;
}

/**
 * What the requests of one reflector, in order, say against it: whatever it asks for in the end is right, but a list too
 * many is load on a server that has just said that it is overloaded, and a watch from nowhere in particular loses deletions.
 */
export function relistViolations(
  requests: readonly ProxiedRequest[],
  failures: readonly WatchFailure[],
): readonly string[] {
  const violations: string[] = [];
  const firstWatch = requests.findIndex(({ url }) => isWatch(url));
  for (const [index, { url }] of requests.entries()) {
    if (firstWatch >= 0 && index > firstWatch && url.includes('resourceVersion=0')) {
      violations.push('a list may come out of an older cache than what is known');
    }
    if (isWatch(url) && versionAskedFor(url) === '') {
      violations.push('a watch began at no state in particular');
    }
  }
  for (const { error, after } of failures) {
    const next = requests[after]?.url;
    if (next === undefined || !(error instanceof ApiError)) continue;
    if (error.status === 429 && !isWatch(next)) violations.push('a list followed a watch that was put off');
    if (error.status === 410 && isWatch(next))
      violations.push('a watch of what is forgotten was opened again');
  }
  return violations;
}
