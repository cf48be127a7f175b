import type { JsonValue } from '../json.ts';
import type { CollectionNode, SyntaxNode } from './syntax.ts';

/** The column of a place in a text, from 0. */
export function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1);
}

/** The end of the line of a place, before its line break. */
export function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  if (at === -1) return text.length;
  return text[at - 1] === '\r' && at > from ? at - 1 : at;
}

/** The gap before the last entry of a flow collection: a blank, or a line break and the indentation. */
export function gapOf(text: string, node: CollectionNode): string {
  const start = node.entries.at(-1)?.start ?? node.end;
  const margin = blanksBefore(text, start);
  const lineBreak = start - margin.length - 1;
  return text[lineBreak] === '\n' && lineBreak > node.start ? `\n${margin}` : ' ';
}

/** The blanks directly before a place. */
function blanksBefore(text: string, at: number): string {
  let start = at;
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start -= 1;
  return text.slice(start, at);
}

/** A value in flow style, on several lines if the entries of its collection are. */
export function printFlow(text: string, node: CollectionNode, value: JsonValue): string {
  const gap = gapOf(text, node);
  if (!gap.includes('\n')) return JSON.stringify(value);
  const margin = gap.slice(1);
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', node.end - 1) + 1))?.[0] ?? '';
  const step = margin.startsWith(outer) ? margin.slice(outer.length) : '  ';
  return JSON.stringify(value, null, step).replaceAll('\n', `\n${margin}`);
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

/** Whether a value is in flow style, as in JSON. Its replacement keeps that style. */
export function isFlow(node: SyntaxNode): boolean {
  return (node.kind === 'mapping' || node.kind === 'sequence') && node.flow;
}

function isBlock(node: SyntaxNode): node is CollectionNode {
  return (node.kind === 'mapping' || node.kind === 'sequence') && !node.flow;
}
