import {
  CHOMPING_MODE,
  COLLECTION_STYLE,
  EVENT_ID,
  type Event,
  getScalarValue,
  SCALAR_STYLE,
  type ScalarEvent,
} from 'js-yaml';
import type { Path } from '../diagnostic.ts';

/** The text has a form that cannot be edited in place, such as a complex key. */
export class UneditableError extends Error {}

/** A range of the text; the end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ScalarNode extends Span {
  readonly kind: 'scalar' | 'alias';
  /** The decoded value; empty for an alias. */
  readonly value: string;
  /** The indentation of a block scalar (`|`), whose `start` is the start of its first line. */
  readonly literalIndent?: number;
}

/** One member of a mapping, or one item of a sequence. */
export interface Entry extends Span {
  /** The key as text; undefined for items. */
  readonly key: string;
  /** From after the colon or dash (in flow style: from the value) to the end of the value. */
  readonly slot: Span;
  readonly node: SyntaxNode;
}

export interface CollectionNode extends Span {
  readonly kind: 'mapping' | 'sequence';
  /** Whether it is in flow style, `{a: 1}` or `[1]`. In block style each entry starts on a line of its own. */
  readonly flow: boolean;
  readonly entries: readonly Entry[];
}

/** A value with its place in the text. */
export type SyntaxNode = ScalarNode | CollectionNode;

/** Whether a value is in flow style, as in JSON. Its replacement keeps that style. */
export function isFlow(node: SyntaxNode): boolean {
  return (node.kind === 'mapping' || node.kind === 'sequence') && node.flow;
}

/** The root of each document of a text, from the events of its parser; undefined if it cannot be edited. */
export function syntaxTrees(text: string, events: readonly Event[]): readonly (SyntaxNode | undefined)[] {
  const starts = events.flatMap(({ type }, index) => (type === EVENT_ID.DOCUMENT ? [index + 1] : []));
  return starts.map((start) => {
    try {
      return treeOf(text, events, start);
    } catch (err) {
      if (err instanceof UneditableError) return undefined;
      throw err;
    }
  });
}

/** Where the entry at a path below a node starts, or the last one on the way there that the text has. */
export function startOf(root: SyntaxNode, path: Path): number {
  let [node, start] = [root, root.start];
  for (const segment of path) {
    const entry = entryOf(node, segment);
    if (!entry) break;
    start = node.kind === 'mapping' ? entry.start : entry.node.start;
    node = entry.node;
  }
  return start;
}

/** The value of an entry of a collection. */
export function childOf(node: SyntaxNode | undefined, segment: string | number): SyntaxNode | undefined {
  return node && entryOf(node, segment)?.node;
}

function entryOf(node: SyntaxNode, segment: string | number): Entry | undefined {
  if (!('entries' in node)) return undefined;
  return typeof segment === 'number'
    ? node.entries[segment]
    : node.entries.find(({ key }) => key === segment);
}

/** Reads the value of a document. `start` is the index of the event after the one that opens the document. */
function treeOf(text: string, events: readonly Event[], start: number): SyntaxNode {
  let at = start;

  /** `fallback` is the place of a value that the text does not contain. */
  function node(fallback: number): SyntaxNode {
    const event = events[at];
    at += 1;
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return {
          kind: 'scalar',
          value: getScalarValue(text, event),
          ...scalarSpan(text, event, fallback),
          ...(event.style === SCALAR_STYLE.LITERAL_BLOCK && { literalIndent: event.indent }),
        };
      case EVENT_ID.ALIAS:
        return { kind: 'alias', value: '', start: event.anchorStart - 1, end: event.anchorEnd };
      case EVENT_ID.MAPPING:
      case EVENT_ID.SEQUENCE: {
        const kind = event.type === EVENT_ID.MAPPING ? 'mapping' : 'sequence';
        return collection(kind, event.style === COLLECTION_STYLE.FLOW, event.start);
      }
      default:
        throw new UneditableError('the parser gave no value');
    }
  }

  function collection(kind: CollectionNode['kind'], flow: boolean, start: number): CollectionNode {
    const entries: Entry[] = [];
    let end = start + (flow ? 1 : 0);
    while (events[at]?.type !== EVENT_ID.POP) {
      const entry = kind === 'mapping' ? member() : item(flow, end);
      entries.push(entry);
      end = entry.end;
    }
    at += 1;
    // A pair in a flow list (`[a: 1]`) is a mapping without brackets.
    if (flow && '[{'.includes(text[start] ?? ' ')) end = closing(text, end) + 1;
    return { kind, flow, entries, start, end };
  }

  function member(): Entry {
    const key = node(-1);
    if ('entries' in key || key.start < 0) throw new UneditableError('a key is not a scalar');
    const name = key.kind === 'alias' ? text.slice(key.start, key.end) : key.value;
    const colon = skipBlanks(text, key.end);
    // Without a colon the value is null.
    const behind = text[colon] === ':' ? colon + 1 : key.end;
    return entry(name, key.start, behind, node(behind));
  }

  function item(flow: boolean, behind: number): Entry {
    if (flow) {
      const value = node(-1);
      return entry('', value.start, value.start, value);
    }
    const dash = skipBlanks(text, behind);
    if (text[dash] !== '-') throw new UneditableError('an item has no dash before it');
    return entry('', dash, dash + 1, node(dash + 1));
  }

  return node(0);
}

/** The entry whose value is in the slot from `behind` to its end. */
function entry(key: string, start: number, behind: number, node: SyntaxNode): Entry {
  return { key, node, start, end: node.end, slot: { start: behind, end: node.end } };
}

function scalarSpan(text: string, event: ScalarEvent, fallback: number): Span {
  const { valueStart: start, valueEnd: end, style } = event;
  if (start < 0) return { start: fallback, end: Math.max(fallback, event.anchorEnd, event.tagEnd) };
  if (style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED) {
    return { start: start - 1, end: end + 1 };
  }
  if (style === SCALAR_STYLE.PLAIN) return { start, end };
  // The parser counts blank lines after a block scalar as part of it.
  const body = text.slice(start, end);
  const kept = event.chomping === CHOMPING_MODE.KEEP ? body.replace(/\r?\n$/, '') : body.trimEnd();
  return { start, end: start + kept.length };
}

/** The index of the bracket that closes a flow collection; `from` is after its last entry. */
function closing(text: string, from: number): number {
  const at = skipBlanks(text, from, ',');
  if (text[at] !== '}' && text[at] !== ']')
    throw new UneditableError('a closing bracket is not where expected');
  return at;
}

/** The index of the first character that is not a blank, in a comment or one of `others`. */
function skipBlanks(text: string, from: number, others = ''): number {
  let at = from;
  for (;;) {
    const char = text[at] ?? '';
    if (char === '#') at = (text.indexOf('\n', at) + 1 || text.length + 1) - 1;
    else if (char === '' || (!' \t\r\n'.includes(char) && !others.includes(char))) return at;
    at += 1;
  }
}
