import { type Span, UneditableError } from './syntax.ts';

/** A replacement of a range of a text. */
export interface TextEdit extends Span {
  readonly text: string;
}

/**
 * Applies all edits to a text. At one place, the earlier edit comes first. Their line breaks become those of the text.
 * @throws UneditableError if two of them overlap.
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
 * The edits in the order of their places.
 * @throws UneditableError if two of them overlap.
 */
export function inOrder(edits: readonly TextEdit[]): readonly TextEdit[] {
  const sorted = edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  for (const [index, edit] of sorted.entries()) {
    if (edit.start < (sorted[index - 1]?.end ?? 0)) throw new UneditableError('two changes overlap');
  }
  return sorted;
}
