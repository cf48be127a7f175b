import type { Entry, Match } from './model.ts';
import { PATH_TYPES } from './parse-match.ts';

/**
 * Puts entries in the order in which a request is compared with them, by the rules of the Gateway API: exact paths,
 * longer paths, methods, more headers, more query parameters. Equals are in the order of their age, their name and
 * their place in the route. The API leaves open where regular expressions are: here, before prefixes.
 */
export function inOrder<T extends Entry>(entries: readonly T[]): readonly T[] {
  return [...entries].sort(compareEntries);
}

function compareEntries(a: Entry, b: Entry): number {
  return (
    Number(a.isLast) - Number(b.isLast) ||
    (a.match.call && b.match.call ? compareCalls(a.match.call, b.match.call) : comparePaths(a, b)) ||
    b.match.headers.length - a.match.headers.length ||
    b.match.queryParams.length - a.match.queryParams.length ||
    compareText(a.created, b.created) ||
    // Within a route, entries come in the order of its rules, and sorting keeps that.
    compareText(a.route, b.route)
  );
}

/** A longer service, then a longer method, whatever their types are. */
function compareCalls(a: NonNullable<Match['call']>, b: NonNullable<Match['call']>): number {
  return b.service.length - a.service.length || b.method.length - a.method.length;
}

function comparePaths(a: Entry, b: Entry): number {
  return (
    PATH_TYPES.indexOf(a.match.path.type) - PATH_TYPES.indexOf(b.match.path.type) ||
    b.match.path.value.length - a.match.path.value.length ||
    Number(b.match.method !== undefined) - Number(a.match.method !== undefined)
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
