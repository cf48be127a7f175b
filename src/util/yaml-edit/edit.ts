import {
  isArray,
  isObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../json.ts';
import {
  columnOf,
  indent,
  insertEntries,
  isFlow,
  keepsItemsUnderKeys,
  printBlock,
  removeEntries,
  type TextEdit,
} from './entries.ts';
import type { CollectionNode, Entry, SyntaxNode } from './syntax.ts';

/**
 * The edits that turn the text of one value into that of another. Parts that are equal in both keep their comments,
 * order, spelling and numbers.
 * @throws UneditableError if the text has a form that cannot be edited in place.
 */
export function editsFor(
  text: string,
  root: SyntaxNode,
  before: JsonValue,
  after: JsonValue,
): readonly TextEdit[] {
  const editor = new Editor(text, root);
  editor.change({ node: root, slot: root, start: root.start }, before, after);
  return editor.edits;
}

/** Collects the edits of one document. */
class Editor {
  readonly edits: TextEdit[] = [];
  readonly #text: string;
  readonly #seqNoIndent: boolean;

  constructor(text: string, root: SyntaxNode) {
    this.#text = text;
    this.#seqNoIndent = keepsItemsUnderKeys(text, root);
  }

  /** The slot is replaced if the value cannot be changed piece by piece. Without a parent, it is the whole document. */
  change(
    { node, slot, start }: Pick<Entry, 'node' | 'slot' | 'start'>,
    before: JsonValue,
    after: JsonValue,
    parent?: CollectionNode,
  ): void {
    if (sameJson(before, after)) return;
    // New entries need a neighbor that stays.
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
    } else if (parent?.flow ?? isFlow(node)) {
      this.edits.push({ start: node.start, end: node.end, text: JSON.stringify(after) });
    } else {
      const column = parent ? columnOf(this.#text, start) : 0;
      this.edits.push({ start: slot.start, end: slot.end, text: this.#asSlot(after, column) });
    }
  }

  #changeMapping(node: CollectionNode, before: JsonObject, after: JsonObject): void {
    const keys = new Set(node.entries.map(({ key }) => key));
    const gone = node.entries.filter(({ key }) => Object.hasOwn(before, key) && !Object.hasOwn(after, key));
    // Of keys that are given twice, the last counts.
    const last = new Map(node.entries.map((entry) => [entry.key, entry]));
    for (const entry of last.values()) {
      const [old, value] = [own(before, entry.key), own(after, entry.key)];
      if (old === undefined || value === undefined) continue;
      this.change(entry, old, value, node);
    }
    this.edits.push(...removeEntries(this.#text, node, gone));
    const added = Object.entries(after).filter(([key, value]) => {
      // A merge key (`<<`) brings entries that the text does not contain.
      const merged = own(before, key);
      return !keys.has(key) && (merged === undefined || !sameJson(merged, value));
    });
    const printed = added.map(([key, value]) => this.#print(node, key, value));
    this.edits.push(...insertEntries(this.#text, node, printed, node.entries.length));
  }

  #changeSequence(node: CollectionNode, before: JsonArray, after: JsonArray): void {
    const matches = align(before, after);
    const kept = new Set(matches);
    const gone = node.entries.filter((_, index) => !kept.has(index));
    this.edits.push(...removeEntries(this.#text, node, gone));
    let added: JsonValue[] = [];
    for (const [position, value] of after.entries()) {
      const match = matches[position];
      const entry = match === undefined ? undefined : node.entries[match];
      if (match === undefined || !entry) {
        added.push(value);
        continue;
      }
      // Insert before the next entry that stays, or after the last one.
      this.#insertItems(node, added, match);
      added = [];
      this.change(entry, before[match] as JsonValue, value, node);
    }
    this.#insertItems(node, added, node.entries.length);
  }

  #insertItems(node: CollectionNode, values: readonly JsonValue[], index: number): void {
    const printed = values.map((value) => this.#print(node, undefined, value));
    this.edits.push(...insertEntries(this.#text, node, printed, index));
  }

  #print(node: CollectionNode, key: string | undefined, value: JsonValue): string {
    if (!node.flow) return printBlock(key === undefined ? [value] : { [key]: value }, this.#seqNoIndent);
    const text = JSON.stringify(value);
    return key === undefined ? text : `${JSON.stringify(key)}: ${text}`;
  }

  /** The text of a value after its key or dash. */
  #asSlot(value: JsonValue, column: number): string {
    const text = printBlock(value, this.#seqNoIndent);
    const isBlock = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!isBlock) return ` ${indent(text, column)}`;
    return indent(`\n${text}`, isArray(value) && this.#seqNoIndent ? column : column + 2);
  }
}

/**
 * For each item of the new list, the index of the old item that it comes from: an equal one, the one with its name or,
 * without names, the next. Indices only ascend.
 */
function align(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  return after.map((value) => {
    const name = nameOf(value);
    const isLike = (item: JsonValue, i: number) =>
      sameJson(item, value) ||
      (isObject(item) && isObject(value) && nameOf(item) === name && (name !== undefined || i === next));
    const found = before.findIndex((item, i) => i >= next && isLike(item, i));
    if (found === -1) return undefined;
    next = found + 1;
    return found;
  });
}

/** The key by which Kubernetes identifies items of a list; kind, namespace and name for items of a List. */
function nameOf(item: JsonValue): string | undefined {
  if (!isObject(item)) return undefined;
  const name = ownString(item, 'name') ?? ownString(item, 'ip') ?? ownString(item, 'mountPath');
  const metadata = own(item, 'metadata');
  if (name !== undefined || metadata === undefined) return name;
  return JSON.stringify([own(item, 'kind'), own(metadata, 'namespace'), own(metadata, 'name')]);
}
