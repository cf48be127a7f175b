import { RE2JS } from 're2js';
import { LruMap } from '../../../kube/util/lru-map.ts';

/** Of one expression: `a{990}` and `.{990}` are below it. Envoy’s own RE2 has memory for more. */
export const MAX_STEPS = 2000;
/** What RE2 has beside the steps of the pattern itself. */
const FRAME_STEPS = 6;
/** Of a class such as \pL, and of one such as \w, where that has not its length for it. Envoy matches bytes, so they are few. */
const CATEGORY_STEPS = 16;
const PERL_STEPS = 5;
/** Of *, + and ?, at most. */
const LOOP_STEPS = 3;
/** How often a repetition of repetitions may repeat, in RE2. */
const MAX_REPEATS = 1000;
/** Of the automaton of one expression, RE2 keeps no more: a third of its 8 MB. */
const MAX_AUTOMATON_BYTES = 2_700_000;
/** To look at more of an automaton takes too long: one with more is taken for the largest. */
const [MORE_STATES, STATES_OF_STEP] = [50, 3];
const [MORE_WORK, WORK_OF_STEP] = [30_000, 50];
/** At the begin of a text, which is that of a line. */
const AT_BEGIN = 5;
const ANCHORED = 2;
/** What newer versions of Unicode added is not in every RE2. */
const CATEGORIES = /^(?:C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;
const CATEGORY = /\\[pP](?:\{\^?([^}]*)\}|([^{]))/g;
/** A quotation, flags, an escape, a class (or what has no end of one), a repetition, a character. */
const TOKENS =
  /\\Q[\s\S]*?(?:\\E|$)|\(\?[a-zA-Z-]+\)|\\[pP](?:\{[^}]*\}|[^{])|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]|\[[\s\S]*|\{(\d+)(,?)(\d*)\}|[\s\S]/g;

/** What is known of an expression. */
interface Expression {
  readonly fault: string | undefined;
  readonly automatonBytes: number;
}

/** By pattern: a changed status gives a route a new identity, but no new patterns. */
const known = new LruMap<string, Expression>(2000);

/** Says why Envoy would refuse a regular expression, or take too long for it; undefined if neither. */
export function regexFault(pattern: string): string | undefined {
  return pattern.length > MAX_STEPS ? TOO_LARGE : lookAt(pattern).fault;
}

/**
 * What Envoy’s RE2 keeps of a valid expression at most once it has matched many texts. That does not depend on its size:
 * `.*a.{20}` remembers of each of 20 characters whether it was an a, in a million ways.
 */
export function automatonBytes(pattern: string): number {
  return lookAt(pattern).automatonBytes;
}

function lookAt(pattern: string): Expression {
  const before = known.get(pattern);
  if (before) return before;
  const fault = findFault(pattern);
  const found = { fault, automatonBytes: fault === undefined ? measureAutomaton(pattern) : 0 };
  known.set(pattern, found);
  return found;
}

function measureAutomaton(pattern: string): number {
  // These have so many ranges in RE2JS that they would take too long.
  if (pattern.search(CATEGORY) >= 0) return MAX_AUTOMATON_BYTES;
  const { dfa, prog } = compile(pattern).re2Input;
  const runes = new Map([...dfa.latin1Class].map((runeClass, rune) => [runeClass, rune]));
  const states = new Set([dfa.makeState([prog.start], AT_BEGIN, [])]);
  const steps = regexSteps(pattern);
  let work = MORE_WORK + WORK_OF_STEP * steps;
  for (const state of states) {
    for (const [runeClass, rune] of runes) {
      const next = dfa.step(state, runeClass, rune, ANCHORED);
      work -= state.nfaStates.length + (next?.nfaStates.length ?? work);
      states.add(next);
      if (work < 0 || states.size > MORE_STATES + STATES_OF_STEP * steps) return MAX_AUTOMATON_BYTES;
    }
  }
  return Math.min(dfa.maxMem - dfa.memBudget, MAX_AUTOMATON_BYTES);
}

const TOO_LARGE = `is too large: at most ${MAX_STEPS} steps are allowed. Make it shorter, or its repetitions smaller`;

function findFault(pattern: string): string | undefined {
  if (pattern === '') return 'is empty';
  const { steps, repeats, plain } = measure(pattern);
  if (repeats > MAX_REPEATS) return `is invalid: its repetitions exceed ${MAX_REPEATS} in total`;
  if (steps > MAX_STEPS) return TOO_LARGE;
  const escapes = pattern.replaceAll('\\\\', '').replace(/\\Q[\s\S]*?(?:\\E|$)/g, '');
  if (/\\x\{0*[1-9a-fA-F][0-9a-fA-F]{2,}\}|\\[4-7][0-7]{2}/.test(escapes))
    return 'has a character above \\xff';
  for (const [, long, short = ''] of escapes.matchAll(CATEGORY)) {
    const name = long ?? short;
    if (!CATEGORIES.test(name)) return `names the class ${name}, which is not a general category such as Lu`;
  }
  try {
    compile(plain);
    return undefined;
  } catch (err) {
    return `is invalid: ${String(err instanceof Error ? err.message : err).replace('error parsing regexp: ', '')}`;
  }
}

/** At least the size of the program that Envoy’s RE2 makes of a pattern. Linear in its length; it need not be valid. */
export function regexSteps(pattern: string): number {
  return pattern.length > MAX_STEPS ? pattern.length : measure(pattern).steps;
}

interface Measure {
  readonly steps: number;
  /** The largest product of nested repetitions. */
  readonly repeats: number;
  /** As valid as the pattern, but no repetition repeats and no class is a category: so it takes little time to compile. */
  readonly plain: string;
}

function measure(pattern: string): Measure {
  const groups: { readonly steps: number; readonly repeats: number }[] = [];
  let [steps, atom, repeats, atomRepeats, most] = [0, 0, 1, 1, 1];
  let plain = '';
  const add = (cost: number, repeated = 1) => {
    steps += cost;
    atom = cost;
    atomRepeats = repeated;
    repeats = Math.max(repeats, repeated);
    most = Math.max(most, repeated);
  };
  // Each range may have another case.
  const caseFactor = /\(\?[a-zA-Z]*i/.test(pattern) ? 2 : 1;
  for (const [token, from, comma, to] of pattern.matchAll(TOKENS)) {
    if (from !== undefined) {
      const count = Math.max(Number(to || from), 1);
      const optional = to ? Math.max(Number(to) - Number(from), 0) : comma ? LOOP_STEPS : 0;
      const more = atom * (count - 1) + optional;
      steps += more;
      atom += more;
      atomRepeats *= count;
      repeats = Math.max(repeats, atomRepeats);
      most = Math.max(most, atomRepeats);
      plain += count > MAX_REPEATS || (to && Number(to) < Number(from)) ? token : '{1}';
      continue;
    }
    plain += token.startsWith('\\Q')
      ? token
      : token.replace(CATEGORY, (text, long, short) => (CATEGORIES.test(long ?? short) ? '\\w' : text));
    // A repetition after one of these is of what comes before it.
    if (/^(?:\(\?.|\\Q\\E$)/.test(token)) continue;
    if (token === '(') {
      groups.push({ steps, repeats });
      [steps, repeats] = [0, 1];
    } else if (token === ')') {
      const [inside, repeated] = [steps + 2, repeats];
      const before = groups.pop();
      [steps, repeats] = [before?.steps ?? 0, before?.repeats ?? 1];
      add(inside, repeated);
    } else if (/^[*+?|]$/.test(token)) {
      steps += LOOP_STEPS;
      atom += LOOP_STEPS;
    } else if (token === '.') add(2);
    else add(token.startsWith('\\Q') ? token.length : sizeOf(token) * caseFactor);
  }
  const all = groups.reduce((sum, each) => sum + each.steps, steps) + FRAME_STEPS;
  return { steps: all, repeats: most, plain };
}

/** Of a class or a character. */
function sizeOf(token: string): number {
  if (!/^[[\\]/.test(token)) return 1;
  const escapes = [...token.matchAll(/\\([\s\S])/g)].map(([, letter = '']) => letter);
  const more = escapes.reduce(
    (sum, letter) => sum + (/[pP]/.test(letter) ? CATEGORY_STEPS : /[dswDSW]/.test(letter) ? PERL_STEPS : 0),
    0,
  );
  return token.startsWith('[') ? token.length + more : Math.max(more, 1);
}

/** Whether a valid regular expression matches the whole text, as Envoy does it. */
export function regexMatches(pattern: string, text: string): boolean {
  return compile(pattern).testExact(bytes(text));
}

function compile(pattern: string): RE2JS {
  return RE2JS.compile(bytes(pattern));
}

/** Envoy matches bytes, not characters. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
