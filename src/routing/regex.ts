import { RE2JS } from 're2js';

/** Envoy’s own RE2 has memory for more, even if each instruction is a set of characters. */
const MAX_PROGRAM = 1000;
/** A pattern is compiled only up to this cost: 4,000 characters may otherwise take seconds of CPU. */
const MAX_COST = 5000;
/** Of a class such as \pL, compared with a plain character. */
const CLASS_COST = 20;
/** What newer versions of Unicode added is not in every RE2. */
const CATEGORIES = /^(?:C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;

/** Says why Envoy would refuse a regular expression; undefined if it would not. */
export function regexFault(pattern: string): string | undefined {
  if (pattern === '') return 'is empty';
  if (regexCost(pattern) > MAX_COST) return 'is too large: make it shorter, or its repetitions smaller';
  const plain = pattern.replaceAll('\\\\', '');
  if (/\\x\{0*[1-9a-fA-F][0-9a-fA-F]{2,}\}|\\[4-7][0-7]{2}/.test(plain)) return 'has a character above \\xff';
  for (const [, name = ''] of plain.matchAll(/\\[pP]\{\^?([^}]*)\}/g)) {
    if (!CATEGORIES.test(name)) return `names the class ${name}, which is not a general category such as Lu`;
  }
  try {
    const size = compile(pattern).programSize();
    return size > MAX_PROGRAM
      ? `is too large: its program has ${size} steps, of at most ${MAX_PROGRAM}`
      : undefined;
  } catch (err) {
    return `is invalid: ${String(err instanceof Error ? err.message : err).replace('error parsing regexp: ', '')}`;
  }
}

/**
 * About how much work it is to compile a pattern: its length, with each repetition written out. Linear in the length of
 * the pattern, which need not be valid.
 */
export function regexCost(pattern: string): number {
  if (pattern.length > MAX_COST) return pattern.length;
  const parts = pattern.matchAll(/\\[pP]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(,?)(\d*)\}|[\s\S]/g);
  const groups: number[] = [];
  let [total, atom] = [0, 0];
  const add = (cost: number) => {
    total += cost;
    atom = cost;
  };
  for (const [part, from, , to] of parts) {
    if (part === '(') {
      groups.push(total);
      total = 0;
    } else if (part === ')') {
      const inside = total;
      total = groups.pop() ?? 0;
      add(inside + 1);
    } else if (from !== undefined) {
      const more = atom * (Math.max(Number(to || from), 1) - 1);
      total += more;
      atom += more;
    } else if (/^\\[pP]/.test(part)) add(CLASS_COST);
    else add(part.length + CLASS_COST * (part.split(/\\[pP]/).length - 1));
  }
  return groups.reduce((sum, each) => sum + each, total);
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
