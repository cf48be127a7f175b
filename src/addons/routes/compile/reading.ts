import { bytesOfEntries } from './entry-bytes.ts';
import { type IsGranted, withoutUngranted } from './grants.ts';
import { type Entry, inOrder, type Match } from './model.ts';
import { type ParsedRoute, parseRoute } from './parse.ts';
import { regexFault } from './regex.ts';
import type { Route } from './route.ts';
import { patternsOf } from './shares.ts';

/** What a route object alone says. */
export interface Reading {
  readonly route: ParsedRoute;
  readonly entries: readonly Entry[];
  readonly refused: readonly number[];
  readonly unserved: readonly number[];
  readonly bytes: number;
}

const REFUSED = { kind: 'error' } as const;
const readings = new WeakMap<Route, Reading>();

/** Expressions take most of the time, so there is a step for each. */
export function* read(object: Route): Generator<void, Reading> {
  const known = readings.get(object);
  if (known) return known;
  for (const pattern of patternsOf(object)) {
    regexFault(pattern);
    yield;
  }
  const route = parseRoute(object);
  const entries = entriesOf(route);
  const reading = {
    route,
    entries,
    refused: refusedRules(route, entries),
    unserved: unservedRules(route),
    bytes: bytesOfEntries(entries),
  };
  readings.set(object, reading);
  return reading;
}

/** A reading without what no ReferenceGrant lets it name. It takes no more bytes for that. */
export function permitted(reading: Reading, isGranted: IsGranted): Reading {
  const route = withoutUngranted(reading.route, isGranted);
  if (route === reading.route) return reading;
  const entries = entriesOf(route);
  return { ...reading, route, entries, refused: refusedRules(route, entries) };
}

function refusedRules({ rules }: ParsedRoute, entries: readonly Entry[]): readonly number[] {
  const answered = new Set(entries.flatMap(({ rule, action }) => (action.kind === 'error' ? [] : rule)));
  return rules.flatMap((_, index) => (answered.has(index) ? [] : index));
}

/** The rules that answer 500 because no backend has a weight above 0. */
function unservedRules({ rules }: ParsedRoute): readonly number[] {
  return rules.flatMap(({ action }, rule) =>
    action.kind === 'forward' && action.backends.every(({ weight }) => weight === 0) ? rule : [],
  );
}

/** An entry in the place that it was meant to have. */
interface Meant extends Entry {
  /** What is left of a match without a meaning. */
  readonly actual?: Match;
}

/**
 * The entries of a route. It is unknown which requests an unreadable match was for. So what comes after it in
 * its own route is refused, and it takes itself what no entry of any route takes.
 */
function entriesOf({ key, object, rules }: ParsedRoute): readonly Entry[] {
  const meant = rules.flatMap(({ matches, action }, rule) =>
    matches.map(
      ({ match, meant }): Meant => ({
        route: key,
        created: object.metadata.creationTimestamp ?? '',
        rule,
        match: meant ?? match,
        isLast: false,
        action,
        ...(meant && { actual: match }),
      }),
    ),
  );
  if (meant.every(({ actual }) => actual === undefined)) return meant;
  let isRefused = false;
  return inOrder(meant).map(({ actual, ...entry }): Entry => {
    isRefused ||= actual !== undefined;
    if (!isRefused) return entry;
    return { ...entry, match: actual ?? entry.match, isLast: actual !== undefined, action: REFUSED };
  });
}
