import {
  isArray,
  isObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../inject/json.ts';
import { indent, printBlock } from './print.ts';
import { type CollectionNode, type Entry, type Span, type SyntaxNode, UneditableError } from './syntax.ts';

/** A stretch of a text that is replaced. */
export interface TextEdit extends Span {
  readonly text: string;
}

/**
 * The edits that turn the text of a value into that of another one. What is the same in both is not touched, with its
 * comments, its order, its spelling and its numbers.
 * @throws UneditableError where the text is of a form that cannot be edited in place.
 */
export function editsFor(
  text: string,
  root: SyntaxNode,
  before: JsonValue,
  after: JsonValue,
): readonly TextEdit[] {
  const editor = new Editor(text, root);
  editor.change(root, before, after, root, 0, isFlow(root));
  return editor.edits;
}

/** Puts all edits into a text; of those at one place, the earlier comes first. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < at) throw new UneditableError('two changes overlap');
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

class Editor {
  readonly edits: TextEdit[] = [];
  readonly #text: string;
  readonly #newline: string;
  readonly #seqNoIndent: boolean;

  constructor(text: string, root: SyntaxNode) {
    this.#text = text;
    this.#newline = text.includes('\r\n') ? '\r\n' : '\n';
    this.#seqNoIndent = keepsItemsUnderKeys(text, root);
  }

  /** `slot` is what to replace when the value cannot be changed piece by piece. */
  change(
    node: SyntaxNode,
    before: JsonValue,
    after: JsonValue,
    slot: Span,
    column = 0,
    inFlow = false,
  ): void {
    if (before === after || sameJson(before, after)) return;
    // Only beside something that stays can the rest be put.
    if (
      node.kind === 'mapping' &&
      isObject(before) &&
      isObject(after) &&
      node.entries.some(({ key }) => Object.hasOwn(after, key))
    ) {
      this.#changeMapping(node, before, after);
    } else if (
      node.kind === 'sequence' &&
      isArray(before) &&
      isArray(after) &&
      align(before, after).some((match) => match !== undefined)
    ) {
      this.#changeSequence(node, before, after);
    } else if (inFlow) {
      this.#edit(node.start, node.end, JSON.stringify(after));
    } else {
      this.#edit(slot.start, slot.end, this.#asSlot(after, column));
    }
  }

  #changeMapping(node: CollectionNode, before: JsonObject, after: JsonObject): void {
    const keys = new Set(node.entries.map(({ key }) => key));
    const gone = node.entries.filter(({ key }) => Object.hasOwn(before, key) && !Object.hasOwn(after, key));
    for (const entry of node.entries) {
      const [old, value] = [own(before, entry.key), own(after, entry.key)];
      if (old === undefined || value === undefined) continue;
      this.change(entry.node, old, value, entry.slot, this.#column(node), node.flow);
    }
    this.#remove(node, gone);
    const added = Object.entries(after).filter(([key, value]) => {
      // What a merge key (`<<`) brings is there without being written.
      const merged = own(before, key);
      return !keys.has(key) && (merged === undefined || !sameJson(merged, value));
    });
    const texts = added.map(([key, value]) =>
      node.flow
        ? `${JSON.stringify(key)}: ${this.#flow(node, value)}`
        : printBlock({ [key]: value }, this.#seqNoIndent),
    );
    this.#insert(node, texts, node.entries.length);
  }

  #changeSequence(node: CollectionNode, before: JsonArray, after: JsonArray): void {
    const matches = align(before, after);
    const kept = new Set(matches);
    this.#remove(
      node,
      node.entries.filter((_, index) => !kept.has(index)),
    );
    const added = new Map<number, JsonValue[]>();
    for (const [position, value] of after.entries()) {
      const match = matches[position];
      const entry = match === undefined ? undefined : node.entries[match];
      if (match !== undefined && entry) {
        this.change(entry.node, before[match] as JsonValue, value, entry.slot, this.#column(node), node.flow);
        continue;
      }
      // Before the next one that stays, or behind them all.
      const next = matches.slice(position).find((other) => other !== undefined) ?? node.entries.length;
      added.set(next, [...(added.get(next) ?? []), value]);
    }
    for (const [index, values] of added) {
      const texts = values.map((value) =>
        node.flow ? this.#flow(node, value) : printBlock([value], this.#seqNoIndent),
      );
      this.#insert(node, texts, index);
    }
  }

  /** Before the entry of that index, or behind the last one. */
  #insert(node: CollectionNode, texts: readonly string[], index: number): void {
    if (texts.length === 0) return;
    if (node.flow) {
      this.#insertFlow(node, texts, index);
      return;
    }
    const column = this.#column(node);
    const lines = texts.map((text) => indent(text, column));
    const margin = ' '.repeat(column);
    const entry = node.entries[index];
    if (entry && index === 0) {
      // The first may share its line with the dash of what is around it.
      this.#edit(entry.start, entry.start, lines.map((line) => `${line}\n${margin}`).join(''));
      return;
    }
    const at = this.#lineEnd((entry ? node.entries[index - 1] : node.entries.at(-1))?.end ?? node.end);
    this.#edit(at, at, lines.map((line) => `\n${margin}${line}`).join(''));
  }

  #insertFlow(node: CollectionNode, texts: readonly string[], index: number): void {
    const gap = this.#gap(node);
    const entry = node.entries[index];
    const last = node.entries.at(-1)?.end ?? node.end;
    if (entry) this.#edit(entry.start, entry.start, texts.map((text) => `${text},${gap}`).join(''));
    else this.#edit(last, last, texts.map((text) => `,${gap}${text}`).join(''));
  }

  #remove(node: CollectionNode, entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (node.flow) this.#removeFlow(node, entry, entries);
      else this.#removeLines(entry);
    }
  }

  /** With the line break before it, so that what is added behind it does not meet it. */
  #removeLines({ start, end }: Entry): void {
    const lineStart = this.#text.lastIndexOf('\n', start - 1) + 1;
    if (this.#text.slice(lineStart, start).trim() !== '')
      throw new UneditableError('an entry shares its line');
    const lineEnd = this.#lineEnd(end);
    if (lineStart > 0) {
      const breakAt = this.#text[lineStart - 2] === '\r' ? lineStart - 2 : lineStart - 1;
      this.#edit(breakAt, lineEnd, '');
    } else {
      this.#edit(0, lineEnd + this.#newline.length, '');
    }
  }

  /** With the comma behind it; of the last ones, with that before them. */
  #removeFlow(node: CollectionNode, entry: Entry, gone: readonly Entry[]): void {
    const index = node.entries.indexOf(entry);
    const next = node.entries[index + 1];
    const isTail = node.entries.slice(index).every((other) => gone.includes(other));
    if (!isTail && next) this.#edit(entry.start, next.start, '');
    else this.#edit(node.entries[index - 1]?.end ?? entry.start, entry.end, '');
  }

  #edit(start: number, end: number, text: string): void {
    const broken = this.#newline === '\n' ? text : text.replaceAll('\n', this.#newline);
    this.edits.push({ start, end, text: broken });
  }

  /** A value behind its key or dash. */
  #asSlot(value: JsonValue, column: number): string {
    const text = printBlock(value, this.#seqNoIndent);
    const isBlock = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!isBlock) return ` ${indent(text, column)}`;
    return indent(`\n${text}`, isArray(value) && this.#seqNoIndent ? column : column + 2);
  }

  /** A value in flow style, over several lines where its neighbours are. */
  #flow(node: CollectionNode, value: JsonValue): string {
    const gap = this.#gap(node);
    if (!gap.includes('\n')) return JSON.stringify(value);
    const margin = gap.slice(gap.indexOf('\n') + 1);
    const outer = /^[ \t]*/.exec(this.#text.slice(this.#text.lastIndexOf('\n', node.end - 1) + 1))?.[0] ?? '';
    const step = margin.startsWith(outer) ? margin.slice(outer.length) : '  ';
    return JSON.stringify(value, null, step).replaceAll('\n', `\n${margin}`);
  }

  /** What stands before the last entry of a flow collection: a blank, or a line break and the indentation. */
  #gap(node: CollectionNode): string {
    const start = node.entries.at(-1)?.start ?? node.end;
    const margin = this.#text.slice(this.#text.lastIndexOf('\n', start - 1) + 1, start);
    const ownLine = margin.trim() === '' && this.#text.lastIndexOf('\n', start - 1) > node.start;
    return ownLine ? `\n${margin}` : ' ';
  }

  #column(node: CollectionNode): number {
    const start = node.entries[0]?.start ?? node.start;
    return start - (this.#text.lastIndexOf('\n', start - 1) + 1);
  }

  #lineEnd(from: number): number {
    const at = this.#text.indexOf('\n', from);
    if (at === -1) return this.#text.length;
    return this.#text[at - 1] === '\r' && at > from ? at - 1 : at;
  }
}

/** For each item of the new list, the index of the old one that it was made of; in the order of both. */
function align(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  return after.map((value) => {
    const match = findSame(before, value, next);
    if (match === -1) return undefined;
    next = match + 1;
    return match;
  });
}

/** The item that a value was made of: itself, an equal one, the one of its name or, without names, the next. */
function findSame(before: JsonArray, value: JsonValue, from: number): number {
  const same = before.indexOf(value, from);
  if (same !== -1) return same;
  const name = nameOf(value);
  return before.findIndex((item, index) => {
    if (index < from) return false;
    if (sameJson(item, value)) return true;
    return (
      isObject(item) && isObject(value) && nameOf(item) === name && (name !== undefined || index === from)
    );
  });
}

/** What Kubernetes tells the items of its lists apart by; of the items of a List, kind and name. */
function nameOf(item: JsonValue): string | undefined {
  const name = ownString(item, 'name') ?? ownString(item, 'ip') ?? ownString(item, 'mountPath');
  if (name !== undefined) return name;
  const metadata = own(item, 'metadata');
  if (metadata === undefined) return undefined;
  return JSON.stringify(
    [own(item, 'kind'), own(metadata, 'namespace'), own(metadata, 'name')].map((part) => part ?? null),
  );
}

/** Whether the first sequence under a key starts in the column of the key, as kubectl prints it. */
function keepsItemsUnderKeys(text: string, node: SyntaxNode): boolean {
  const columnOf = (at: number) => at - text.lastIndexOf('\n', at - 1);
  const queue: SyntaxNode[] = [node];
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (!isBlock(next)) continue;
    for (const { start, node: child } of next.entries) {
      if (next.kind === 'mapping' && isBlock(child) && child.kind === 'sequence')
        return columnOf(child.start) === columnOf(start);
      queue.push(child);
    }
  }
  return false;
}

/** Whether a value is written as JSON is, so that what becomes of it should be too. */
export function isFlow(node: SyntaxNode): boolean {
  return (node.kind === 'mapping' || node.kind === 'sequence') && node.flow;
}

function isBlock(node: SyntaxNode): node is CollectionNode {
  return (node.kind === 'mapping' || node.kind === 'sequence') && !node.flow;
}
