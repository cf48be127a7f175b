import type { JsonObject } from '../../../util/json.ts';
import { socket } from './attach.ts';
import { matchOf, modifiersOf, routeOf } from './entry-configuration.ts';
import { AUTOMATON_BYTES, STEP_BYTES } from './left-out.ts';
import type { Action, Entry, Match } from './model.ts';
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
  const actions = new Map<Action, number>();
  return entries.reduce((sum, entry) => {
    const known = actions.get(entry.action) ?? actionBytes(entry);
    actions.set(entry.action, known);
    const { path, headers, queryParams } = entry.match;
    const patterns = [
      ...(path.type === 'RegularExpression' ? [path.value] : []),
      ...[...headers, ...queryParams].flatMap(({ isRegex, value }) => (isRegex ? value : [])),
    ];
    const cost = patterns.reduce((all, pattern) => all + expressionBytes(pattern), 0);
    return sum + known + bytesOf(matchOf(entry.match)) + cost;
  }, 0);
}

/** What a valid regular expression counts beside its text. */
export function expressionBytes(pattern: string): number {
  return STEP_BYTES * regexSteps(pattern) + Math.ceil(automatonBytes(pattern) / AUTOMATON_BYTES);
}

/** What an entry takes beside its match. */
function actionBytes(entry: Entry): number {
  // Whether a backend has an address is not known yet.
  const [written, refused] = [entry.action, REFUSED].map((action) =>
    bytesOf(routeOf({ ...entry, match: ANY, action }, LONGEST_PORT, () => LONGEST)),
  );
  const { path } = entry.action.kind === 'forward' ? entry.action : {};
  const steps = path === undefined ? 0 : REWRITE_STEPS + ('prefix' in path ? path.prefix.length : 0);
  // And what an entry that refuses has from its rule; and a comma.
  const { modifiers } = entry.action.kind === 'error' ? {} : entry.action;
  const more = modifiers ? bytesOf(modifiersOf(modifiers)) : 0;
  const match = bytesOf(matchOf(ANY));
  return Math.max(written ?? 0, (refused ?? 0) + more) - match + 1 + STEP_BYTES * steps;
}

/** What it takes in a file. */
export function bytesOf(value: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(value));
}
