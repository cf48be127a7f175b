import type { JsonObject } from '../../../util/json.ts';
import { socket } from './attach.ts';
import { corsOf, matchOf, modifiersOf, routesOf } from './envoy-route.ts';
import { AUTOMATON_BYTES, STEP_BYTES } from './left-out.ts';
import type { Action, Entry, Filtered, Match } from './model.ts';
import { automatonBytes, regexSteps } from './regex.ts';

const LONGEST_PORT = 65535;
/** No address is longer. */
const LONGEST = socket('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', LONGEST_PORT);
const ANY: Match = { path: { type: 'PathPrefix', value: '' }, headers: [], queryParams: [] };
const REFUSED: Action = { kind: 'error' };
/** Of the pattern of a rewrite, beside a prefix in it. */
const REWRITE_STEPS = 20;

/**
 * At most what entries take in the host of any port; a step of a regular expression counts as {@link STEP_BYTES}, its
 * automaton by {@link AUTOMATON_BYTES}. A file has all of a rule for each of its matches: here it is written once.
 */
export function bytesOfEntries(entries: readonly Entry[]): number {
  const actions = new Map<Action, ReturnType<typeof actionSize>>();
  return entries.reduce((sum, entry) => {
    const { bytes, count } = actions.get(entry.action) ?? actionSize(entry);
    actions.set(entry.action, { bytes, count });
    const { path, headers, queryParams } = entry.match;
    const patterns = [
      ...(path.type === 'RegularExpression' ? [path.value] : []),
      ...[...headers, ...queryParams].flatMap(({ isRegex, value }) => (isRegex ? value : [])),
    ];
    const cost = patterns.reduce((all, pattern) => all + expressionBytes(pattern), 0);
    return sum + bytes + count * (bytesOf(matchOf(entry.match)) + cost);
  }, 0);
}

/** What a valid regular expression counts beside its text. */
export function expressionBytes(pattern: string): number {
  return STEP_BYTES * regexSteps(pattern) + Math.ceil(automatonBytes(pattern) / AUTOMATON_BYTES);
}

/** What the routes of an entry take beside its match, which each of them has. */
function actionSize(entry: Entry) {
  // Whether a backend has an address is not known yet.
  const [written = [], refused = []] = [entry.action, REFUSED].map((action) =>
    routesOf({ ...entry, match: ANY, action }, LONGEST_PORT, longestAddresses()),
  );
  const { action } = entry;
  const parts = action.kind === 'forward' ? [action, ...action.backends] : [action];
  const steps = parts.reduce((sum, part) => sum + ('modifiers' in part ? stepsOf(part) : 0), 0);
  // And what an entry that refuses has from its rule.
  const more = action.kind === 'error' ? 0 : bytesOf({ ...modifiersOf(action.modifiers), ...corsOf(action) });
  const size = (routes: readonly JsonObject[]) => routes.reduce((sum, route) => sum + bytesOf(route) + 1, 0);
  const match = bytesOf(matchOf(ANY));
  const bytes = size(written) - written.length * match;
  return {
    bytes:
      Math.max(bytes, written.length * (size(refused) - match + more)) + STEP_BYTES * written.length * steps,
    count: written.length,
  };
}

/** Of the patterns of filters. */
function stepsOf({ path, cors }: Filtered): number {
  const origins = (cors?.allowOrigins ?? []).reduce((sum, { length }) => sum + length, 0);
  if (path === undefined) return origins;
  return origins + REWRITE_STEPS + ('prefix' in path ? path.prefix.length : 0);
}

/** Addresses as long as the longest, each another one: the file has the names of backends by their addresses. */
function longestAddresses(): () => string {
  let count = 0;
  return () => `${count++}`.padStart(LONGEST.length, 'f');
}

/** What it takes in a file. */
export function bytesOf(value: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(value));
}
