import { columnOf, gapOf, lineEnd } from './layout.ts';
import { indent } from './print.ts';
import { type CollectionNode, type Entry, UneditableError } from './syntax.ts';
import type { TextEdit } from './text-edit.ts';

/** Inserts printed entries before an index, or after the last entry. At least one entry must exist and stay. */
export function insertEntries(
  text: string,
  node: CollectionNode,
  printed: readonly string[],
  index: number,
): readonly TextEdit[] {
  if (printed.length === 0) return [];
  return [node.flow ? insertInFlow(text, node, printed, index) : insertLines(text, node, printed, index)];
}

function insertLines(
  text: string,
  node: CollectionNode,
  printed: readonly string[],
  index: number,
): TextEdit {
  const column = columnOf(text, node.entries[0]?.start ?? node.start);
  const margin = ' '.repeat(column);
  const lines = printed.map((entry) => indent(entry, column));
  const next = node.entries[index];
  // The first entry may share its line with the dash of its parent.
  if (next && index === 0)
    return insertion(
      next.start,
      lines.map((line) => `${line}\n${margin}`),
    );
  const previous = next ? node.entries[index - 1] : node.entries.at(-1);
  return insertion(
    lineEnd(text, previous?.end ?? node.end),
    lines.map((line) => `\n${margin}${line}`),
  );
}

function insertInFlow(
  text: string,
  node: CollectionNode,
  printed: readonly string[],
  index: number,
): TextEdit {
  const gap = gapOf(text, node);
  const next = node.entries[index];
  if (next)
    return insertion(
      next.start,
      printed.map((entry) => `${entry},${gap}`),
    );
  return insertion(
    node.entries.at(-1)?.end ?? node.end,
    printed.map((entry) => `,${gap}${entry}`),
  );
}

function insertion(at: number, texts: readonly string[]): TextEdit {
  return { start: at, end: at, text: texts.join('') };
}

/**
 * Removes some, but not all, entries.
 * @throws UneditableError if an entry shares its line with something else.
 */
export function removeEntries(
  text: string,
  node: CollectionNode,
  gone: readonly Entry[],
): readonly TextEdit[] {
  return node.flow ? removeFromFlow(node, new Set(gone)) : gone.map((entry) => removeLines(text, entry));
}

/** Includes the line break before the entry, so that the edit does not overlap an insertion after it. */
function removeLines(text: string, { start, end }: Entry): TextEdit {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  if (text.slice(lineStart, start).trim() !== '') throw new UneditableError('an entry shares its line');
  if (lineStart === 0) return { start: 0, end: text.indexOf('\n', end) + 1 || text.length, text: '' };
  const breakAt = text[lineStart - 2] === '\r' ? lineStart - 2 : lineStart - 1;
  return { start: breakAt, end: lineEnd(text, end), text: '' };
}

/** Includes the comma after the entries, or the comma before them if they are the last. */
function removeFromFlow({ entries }: CollectionNode, gone: ReadonlySet<Entry>): readonly TextEdit[] {
  const lastKept = entries.findLastIndex((entry) => !gone.has(entry));
  return entries.flatMap((entry, index) => {
    if (!gone.has(entry)) return [];
    const next = entries[index + 1];
    if (index < lastKept && next) return [{ start: entry.start, end: next.start, text: '' }];
    return [{ start: entries[index - 1]?.end ?? entry.start, end: entry.end, text: '' }];
  });
}
