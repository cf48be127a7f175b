import { type JsonValue, sameJson } from '../../../util/json.ts';
import { printBlock } from '../../../util/manifests/kubectl-schema.ts';
import {
  ManifestError,
  type ParsedText,
  parseText,
  readManifests,
  valuesOf,
} from '../../../util/manifests/parse.ts';
import { isFlow, type SyntaxNode, UneditableError } from '../../../util/manifests/syntax.ts';
import { editsFor } from './edit.ts';
import { applyEdits, inOrder, type TextEdit } from './entries.ts';

/**
 * The text with its documents changed to the given ones, which must be as many. Equal parts stay byte for byte: other
 * documents, and in a changed one its comments, order and spelling. The result is parsed again and compared.
 * @throws ManifestError if a document cannot be changed without harm.
 */
export function writeManifests(text: string, documents: readonly JsonValue[]): string {
  const parsed = parseText(text);
  const before = valuesOf(parsed);
  const changed = documents.flatMap((after, index) => {
    const old = before[index] ?? null;
    return sameJson(old, after) ? [] : [{ index, before: old, after }];
  });
  if (changed.length === 0) return text;
  const roots = parsed.roots();
  const changes = changed.map((change) => ({ ...change, root: roots[change.index] }));
  const edits = changes.map((change) => piecewise(parsed, change) ?? whole(parsed, change));
  const first = attempt(text, edits.flat(), documents);
  if (first.wrong.size === 0) return first.text;
  // The usual cause: a value shared by an anchor was changed in several places. Print such documents whole.
  const again = changes.flatMap((change, i) =>
    first.wrong.has(change.index) ? whole(parsed, change) : (edits[i] ?? []),
  );
  const second = attempt(text, again, documents);
  if (second.wrong.size === 0) return second.text;
  throw cannotBeRewritten(Math.min(...second.wrong));
}

/** The text with the edits, and the documents that differ from the goal: all if it does not have as many. */
function attempt(text: string, edits: readonly TextEdit[], goal: readonly JsonValue[]) {
  try {
    const written = applyEdits(text, edits);
    const found = readManifests(written);
    const isAll = found.length !== goal.length;
    const wrong = goal.flatMap((value, i) => (isAll || !sameJson(found[i] ?? null, value) ? [i] : []));
    return { text: written, wrong: new Set(wrong) };
  } catch (err) {
    if (err instanceof ManifestError || err instanceof UneditableError)
      return { text, wrong: new Set(goal.keys()) };
    throw err;
  }
}

function cannotBeRewritten(index: number): ManifestError {
  return new ManifestError(
    `document ${index + 1} cannot be rewritten: remove its anchors, tags and complex keys`,
  );
}

interface Change {
  readonly index: number;
  readonly root: SyntaxNode | undefined;
  readonly before: JsonValue;
  readonly after: JsonValue;
}

/** Undefined if the text has a form that cannot be edited in place. */
function piecewise(
  { text, origin }: ParsedText,
  { root, before, after }: Change,
): readonly TextEdit[] | undefined {
  if (!root) return undefined;
  try {
    return inOrder(editsFor(text, root, before, after).map((edit) => moved(edit, origin)));
  } catch (err) {
    if (err instanceof UneditableError) return undefined;
    throw err;
  }
}

/** The edit of the parsed text as one of the given text. */
function moved({ start, end, text }: TextEdit, origin: ParsedText['origin']): TextEdit {
  return { start: origin(start), end: origin(end), text };
}

/** Prints the whole document. Comments are lost. Numbers that JavaScript cannot hold exactly are refused. */
function whole(
  { text, origin }: ParsedText,
  { index, root: node, after: value }: Change,
): readonly TextEdit[] {
  if (!node) throw cannotBeRewritten(index);
  const inexact = inexactInteger(value);
  if (inexact !== undefined) throw new ManifestError(`${inexact} would lose precision: put it in quotes`);
  if (isFlow(node))
    return [moved({ start: node.start, end: node.end, text: JSON.stringify(value, null, 2) }, origin)];
  const start = text.lastIndexOf('\n', node.start - 1) + 1;
  const own = text.slice(start, node.start).trim() === '';
  const edit = { start: own ? start : node.start, end: node.end, text: printBlock(value, false) };
  return [moved(edit, origin)];
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
