import { type Span, UneditableError } from './syntax.ts';

/** A stretch of a text that is replaced. */
export interface TextEdit extends Span {
  readonly text: string;
}

/**
 * Puts all edits into a text; of those at one place, the earlier comes first. Their line breaks become those of the text.
 * @throws UneditableError where two of them overlap.
 */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  let result = '';
  let at = 0;
  for (const edit of inOrder(edits)) {
    result += text.slice(at, edit.start) + edit.text.replaceAll('\n', newline);
    at = edit.end;
  }
  return result + text.slice(at);
}

/**
 * The edits as they follow each other in the text.
 * @throws UneditableError where two of them overlap.
 */
export function inOrder(edits: readonly TextEdit[]): readonly TextEdit[] {
  const sorted = edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  for (const [index, edit] of sorted.entries()) {
    if (edit.start < (sorted[index - 1]?.end ?? 0)) throw new UneditableError('two changes overlap');
  }
  return sorted;
}
