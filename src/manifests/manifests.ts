import { constructFromEvents, parseEvents, YAMLException } from 'js-yaml';
import type { Location } from '../inject/fault.ts';
import { isArray, isObject, type JsonValue, sameJson } from '../inject/json.ts';
import { editsFor } from './edit.ts';
import { KUBECTL_SCHEMA } from './kubectl-schema.ts';
import { isFlow } from './layout.ts';
import { printBlock } from './print.ts';
import { type SyntaxNode, syntaxTrees, UneditableError } from './syntax.ts';
import { applyEdits, type TextEdit } from './text-edit.ts';

/** What is wrong with a text of manifests, and where. */
export class ManifestError extends Error {
  readonly location: Location | undefined;

  constructor(message: string, location?: Location) {
    super(message);
    this.location = location;
  }
}

/** Aliases may not make more of a text than this. */
const MAX_VALUES = 5_000_000;

/**
 * The documents of a text of YAML or JSON, as kubectl reads them: as many values as there are documents, null for an
 * empty one. Numbers beyond 2^53 are inexact in them, though never in the text that is written.
 * @throws ManifestError
 */
export function readManifests(text: string): readonly JsonValue[] {
  try {
    const events = parseEvents(text, {});
    const documents = constructFromEvents(events, { source: text, schema: KUBECTL_SCHEMA });
    checkSize(documents);
    return documents as JsonValue[];
  } catch (err) {
    if (!(err instanceof YAMLException)) throw err;
    throw new ManifestError(
      err.reason,
      err.mark ? { line: err.mark.line + 1, column: err.mark.column + 1 } : undefined,
    );
  }
}

/**
 * The text with its documents changed to these, as many as there were. All that is the same stays byte for byte: other
 * documents, and in a changed one its comments, order and spelling. What has been written is read again and compared.
 * @throws ManifestError where a document cannot be changed without harm.
 */
export function writeManifests(text: string, documents: readonly JsonValue[]): string {
  const before = readManifests(text);
  const changed = [...documents.keys()].filter(
    (i) => documents[i] !== before[i] && !sameJson(at(documents, i), at(before, i)),
  );
  if (changed.length === 0) return text;
  const roots = syntaxTrees(text, parseEvents(text, {}));
  const all = tryEdits(text, documents, () =>
    changed.flatMap((i) => {
      const root = roots[i];
      if (!root) throw new UneditableError('the document has no syntax tree');
      return editsFor(text, root, at(before, i), at(documents, i));
    }),
  );
  return all ?? writeOneByOne(text, before, documents, changed);
}

/** The last first, so that what is before it stays where it is. */
function writeOneByOne(
  text: string,
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  changed: readonly number[],
): string {
  return changed.reduceRight((current, i) => {
    const goal = after.map((document, j) => (j < i ? at(before, j) : document));
    const written =
      tryEdits(current, goal, () => editsFor(current, rootOf(current, i), at(before, i), at(after, i))) ??
      tryEdits(current, goal, () => [wholeDocument(current, rootOf(current, i), at(after, i))]);
    if (written === undefined) {
      throw new ManifestError(
        `document ${i + 1} cannot be rewritten: remove its anchors, tags and complex keys`,
      );
    }
    return written;
  }, text);
}

function tryEdits(
  text: string,
  goal: readonly JsonValue[],
  edits: () => readonly TextEdit[],
): string | undefined {
  try {
    const result = applyEdits(text, edits());
    return holds(result, goal) ? result : undefined;
  } catch (err) {
    if (err instanceof UneditableError) return undefined;
    throw err;
  }
}

function holds(text: string, goal: readonly JsonValue[]): boolean {
  try {
    return sameJson(readManifests(text), goal);
  } catch (err) {
    if (err instanceof ManifestError) return false;
    throw err;
  }
}

/** A document printed anew: its comments are lost, and the numbers that JavaScript cannot hold must not be. */
function wholeDocument(text: string, node: SyntaxNode, value: JsonValue): TextEdit {
  const inexact = inexactInteger(value);
  if (inexact !== undefined) throw new ManifestError(`${inexact} is too large to be kept exactly: quote it`);
  if (isFlow(node)) return { start: node.start, end: node.end, text: JSON.stringify(value, null, 2) };
  const start = text.lastIndexOf('\n', node.start - 1) + 1;
  const own = text.slice(start, node.start).trim() === '';
  return { start: own ? start : node.start, end: node.end, text: printBlock(value, false) };
}

function inexactInteger(value: JsonValue): number | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const item of Object.values(value)) {
    const found = inexactInteger(item as JsonValue);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The syntax tree of one document. */
function rootOf(text: string, index: number): SyntaxNode {
  const node = syntaxTrees(text, parseEvents(text, {}))[index];
  if (!node) throw new UneditableError('the document has no syntax tree');
  return node;
}

function at(documents: readonly JsonValue[], index: number): JsonValue {
  return documents[index] ?? null;
}

/** Counts what aliases make of a text without walking through them twice; refuses those that contain themselves. */
function checkSize(documents: readonly unknown[]): void {
  const sizes = new Map<unknown, number>();
  const sizeOf = (value: unknown): number => {
    if (!isArray(value) && !isObject(value)) {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw new ManifestError(`${value} is no JSON number`);
      return 1;
    }
    const known = sizes.get(value);
    if (known === Number.POSITIVE_INFINITY) throw new ManifestError('an alias contains itself');
    if (known !== undefined) return known;
    sizes.set(value, Number.POSITIVE_INFINITY);
    const size = Object.values(value).reduce<number>((sum, item) => sum + sizeOf(item), 1);
    sizes.set(value, size);
    return size;
  };
  if (documents.reduce<number>((sum, document) => sum + sizeOf(document), 0) > MAX_VALUES) {
    throw new ManifestError(`more than ${MAX_VALUES} values once aliases are expanded`);
  }
}
