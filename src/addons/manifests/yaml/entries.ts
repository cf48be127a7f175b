import {
  type CollectionNode,
  type Entry,
  type Span,
  type SyntaxNode,
  UneditableError,
} from '../../../util/manifests/syntax.ts';

/** The column of a place in a text, from 0. */
export function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1);
}

/** The end of the line of a place, before its line break. */
function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  if (at === -1) return text.length;
  return text[at - 1] === '\r' && at > from ? at - 1 : at;
}

/** The gap before the last entry of a flow collection: a blank, or a line break and the indentation. */
function gapOf(text: string, node: CollectionNode): string {
  const start = node.entries.at(-1)?.start ?? node.end;
  const [gap] = /\n[ \t]*$/.exec(text.slice(node.start, start)) ?? [' '];
  return gap;
}

/** Whether the first sequence under a key starts in the column of the key, as kubectl prints it. */
export function keepsItemsUnderKeys(text: string, node: SyntaxNode): boolean {
  // The list grows during the loop: nodes nearer to the root come first.
  const queue: SyntaxNode[] = [node];
  for (const next of queue) {
    if (!isBlock(next)) continue;
    for (const { start, node: child } of next.entries) {
      if (next.kind === 'mapping' && isBlock(child) && child.kind === 'sequence')
        return columnOf(text, child.start) === columnOf(text, start);
      queue.push(child);
    }
  }
  return false;
}

function isBlock(node: SyntaxNode): node is CollectionNode {
  return (node.kind === 'mapping' || node.kind === 'sequence') && !node.flow;
}

/** Indents each line but the first. Empty lines stay empty. */
export function indent(text: string, columns: number): string {
  return text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(columns)}`);
}

/** Inserts printed entries before an index, or after the last entry. At least one entry must exist and stay. */
export function insertEntries(
  text: string,
  node: CollectionNode,
  printed: readonly string[],
  index: number,
): TextEdit {
  const { flow, entries } = node;
  const column = columnOf(text, entries[0]?.start ?? node.start);
  const separator = flow ? `,${gapOf(text, node)}` : `\n${' '.repeat(column)}`;
  const lines = flow ? printed : printed.map((entry) => indent(entry, column));
  // In block style, only the first entry may share its line: with the dash of its parent. Others may follow comments.
  const next = flow || index === 0 ? entries[index] : undefined;
  const end = entries[index - 1]?.end ?? node.end;
  const at = next?.start ?? (flow ? end : lineEnd(text, end));
  const inserted = lines.map((line) => (next ? line + separator : separator + line));
  return { start: at, end: at, text: inserted.join('') };
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
