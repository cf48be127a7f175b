import { isPlainWatch, type ProxiedRequest, versionAskedFor } from './fault-proxy.ts';

/**
 * What the requests of one reflector, in order, say against it: whatever it asks for in the end is right, but a list too
 * many is load on a server that has just said that it is overloaded, and a watch from nowhere in particular loses deletions.
 */
export function relistViolations(requests: readonly ProxiedRequest[]): readonly string[] {
  const violations: string[] = [];
  let watched = false;
  for (const [index, { url, fault }] of requests.entries()) {
    if (watched && url.includes('resourceVersion=0')) {
      violations.push('a list may come out of an older cache than what is known');
    }
    if (!isPlainWatch(url)) continue;
    watched = true;
    if (versionAskedFor(url) === '') violations.push('a watch began at no state in particular');
    const next = requests[index + 1]?.url;
    if (next === undefined || fault.kind !== 'status') continue;
    const resumed = isPlainWatch(next) && versionAskedFor(next) === versionAskedFor(url);
    if (fault.code === 429 && !resumed)
      violations.push('a watch that was put off was not opened again as it was');
    if (fault.code === 410 && isPlainWatch(next))
      violations.push('a watch of what is forgotten was opened again');
  }
  return violations;
}
