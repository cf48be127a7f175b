import type { Insertion } from './continuation-lines.ts';

/** The separators of YAML that a stream of JSON objects, one behind the other, lacks. */
export function missingSeparators(text: string): readonly Insertion[] {
  const found: Insertion[] = [];
  for (let start = skipBlanks(text, 0); text[start] === '{'; ) {
    const end = objectEnd(text, start);
    if (end === undefined) return [];
    start = skipBlanks(text, end);
    if (text[start] === '{') found.push({ at: start, text: '\n---\n' });
  }
  return found;
}

/** The place after the object that starts at a place; undefined if it is not closed. */
function objectEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      for (at += 1; at < text.length && text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
    } else if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

/** Also passes over a byte order mark. */
function skipBlanks(text: string, from: number): number {
  let at = from;
  while (' \t\r\n\ufeff'.includes(text[at] ?? 'x')) at += 1;
  return at;
}
