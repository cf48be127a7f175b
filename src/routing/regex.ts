import { RE2JS } from 're2js';

/** Envoy’s own RE2 has memory for more, even if each instruction is a set of characters. */
const MAX_PROGRAM = 1000;
/** What newer versions of Unicode added is not in every RE2. */
const CATEGORIES = /^(?:C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;

/** Says why Envoy would refuse a regular expression; undefined if it would not. */
export function regexFault(pattern: string): string | undefined {
  if (pattern === '') return 'is empty';
  const plain = pattern.replaceAll('\\\\', '');
  if (/\\x\{0*[1-9a-fA-F][0-9a-fA-F]{2,}\}/.test(plain)) return 'has a character above \\xff';
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
