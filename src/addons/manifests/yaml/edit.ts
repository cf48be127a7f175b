import {
  isArray,
  isObject,
  type JsonArray,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../../../util/json.ts';
import { printBlock } from '../../../util/manifests/kubectl-schema.ts';
import { type CollectionNode, type Entry, isFlow, type SyntaxNode } from '../../../util/manifests/syntax.ts';
import {
  columnOf,
  indent,
  insertEntries,
  keepsItemsUnderKeys,
  removeEntries,
  type TextEdit,
} from './entries.ts';

/** A part of a changed collection, in its order: of an entry that stays, or a new one. */
interface Part {
  readonly stays?: { readonly entry: Entry; readonly before: JsonValue };
  /** The key of a new member of a mapping. */
  readonly key?: string;
  readonly value: JsonValue;
}

/**
 * The edits that turn the text of one value into that of another. Parts that are equal in both keep their comments,
 * order, spelling and numbers.
 * @throws UneditableError if the text has a form that cannot be edited in place.
 */
export function editsFor(
  text: string,
  root: SyntaxNode,
  from: JsonValue,
  to: JsonValue,
): readonly TextEdit[] {
  const edits: TextEdit[] = [];
  const seqNoIndent = keepsItemsUnderKeys(text, root);

  /** The slot is replaced if the value cannot be changed piece by piece. Without a parent, it is the whole document. */
  function change(
    { node, slot, start }: Pick<Entry, 'node' | 'slot' | 'start'>,
    before: JsonValue,
    after: JsonValue,
    parent?: CollectionNode,
  ): void {
    if (sameJson(before, after)) return;
    const parts = partsOf(node, before, after);
    // New entries need a neighbor that stays.
    if ('entries' in node && parts.some(({ stays }) => stays)) {
      changeEntries(node, parts, before, after);
    } else if (parent?.flow ?? isFlow(node)) {
      edits.push({ start: node.start, end: node.end, text: JSON.stringify(after) });
    } else {
      const column = parent ? columnOf(text, start) : 0;
      edits.push({ start: slot.start, end: slot.end, text: asSlot(after, column) });
    }
  }

  function changeEntries(
    node: CollectionNode,
    parts: readonly Part[],
    before: JsonValue,
    after: JsonValue,
  ): void {
    const { entries } = node;
    const staying = new Set(parts.map(({ stays }) => stays?.entry));
    // A key that is given twice, or a merge (`<<`), stays beside what counts.
    const isGone = (entry: Entry) =>
      !staying.has(entry) &&
      (isArray(before) || (own(before, entry.key) !== undefined && own(after, entry.key) === undefined));
    edits.push(...removeEntries(text, node, entries.filter(isGone)));
    let added: string[] = [];
    const insertBefore = (next?: Entry) => {
      if (added.length === 0) return;
      const index = next ? entries.indexOf(next) : entries.length;
      edits.push(insertEntries(text, node, added, index));
      added = [];
    };
    for (const { stays, key, value } of parts) {
      if (stays) {
        insertBefore(stays.entry);
        change(stays.entry, stays.before, value, node);
      } else {
        added.push(print(node, key, value));
      }
    }
    insertBefore();
  }

  function print(node: CollectionNode, key: string | undefined, value: JsonValue): string {
    if (!node.flow) return printBlock(key === undefined ? [value] : { [key]: value }, seqNoIndent);
    const json = JSON.stringify(value);
    return key === undefined ? json : `${JSON.stringify(key)}: ${json}`;
  }

  /** The text of a value after its key or dash. */
  function asSlot(value: JsonValue, column: number): string {
    const printed = printBlock(value, seqNoIndent);
    const isBlock = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!isBlock) return ` ${indent(printed, column)}`;
    return indent(`\n${printed}`, isArray(value) && seqNoIndent ? column : column + 2);
  }

  change({ node: root, slot: root, start: root.start }, from, to);
  return edits;
}

/** The parts of a changed mapping or sequence; none if it becomes something else. */
function partsOf(node: SyntaxNode, before: JsonValue, after: JsonValue): readonly Part[] {
  if (node.kind === 'sequence' && isArray(before) && isArray(after)) {
    const matches = align(before, after);
    return after.map((value, position) => {
      const match = matches[position] ?? -1;
      const [entry, old] = [node.entries[match], before[match]];
      return entry && old !== undefined ? { stays: { entry, before: old }, value } : { value };
    });
  }
  if (node.kind !== 'mapping' || !isObject(before) || !isObject(after)) return [];
  // Of keys that are given twice, the last counts.
  const last = new Map(node.entries.map((entry) => [entry.key, entry]));
  const kept = [...last.values()].flatMap((entry): Part[] => {
    const [old, value] = [own(before, entry.key), own(after, entry.key)];
    return old === undefined || value === undefined ? [] : [{ stays: { entry, before: old }, value }];
  });
  const added = Object.entries(after).filter(([key, value]) => {
    // A merge key (`<<`) brings entries that the text does not contain.
    const merged = own(before, key);
    return !last.has(key) && (merged === undefined || !sameJson(merged, value));
  });
  return [...kept, ...added.map(([key, value]) => ({ key, value }))];
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
