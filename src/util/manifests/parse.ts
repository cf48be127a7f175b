import { constructFromEvents, parseEvents, YAMLException } from 'js-yaml';
import { type Location, locationsIn } from '../diagnostic.ts';
import { isArray, isObject, type JsonValue } from '../json.ts';
import { yamlProblem } from '../yaml.ts';
import { KUBECTL_SCHEMA } from './kubectl-schema.ts';
import { type SyntaxNode, syntaxTrees } from './syntax.ts';

/** A mistake in a text of manifests, with its place. */
export class ManifestError extends Error {
  readonly location: Location | undefined;

  constructor(message: string, location?: Location) {
    super(message);
    this.location = location;
  }
}

/** The documents of a text as kubectl reads them. */
export interface ParsedText {
  readonly documents: readonly unknown[];
  /** The text that was parsed: with what the parser wants and kubectl does not. */
  readonly text: string;
  /** The root of each document in that text; undefined if it cannot be edited. */
  readonly roots: () => readonly (SyntaxNode | undefined)[];
  /** The place in the given text of a place in the parsed one. */
  readonly origin: (offset: number) => number;
}

/** Limit on the values of a text once its aliases are expanded. */
const MAX_VALUES = 5_000_000;
/** Deeper than any key: how far a line inside quotes or brackets is indented where that lacks. */
const DEEP = ' '.repeat(80);
/** Lines of a text that are indented so. Each costs a pass over the text. */
const MOST_LINES = 500;

/**
 * Lines inside quotes and brackets get the indentation that YAML 1.2 wants and kubectl's parser does not.
 * @throws ManifestError
 */
export function parseText(given: string): ParsedText {
  for (const indented: number[] = []; ; ) {
    try {
      return parseWith(given, indented);
    } catch (err) {
      if (!(err instanceof YAMLException)) throw err;
      const { reason, mark } = err;
      const at = mark && originIn(indented)(mark.position);
      const start = given.lastIndexOf('\n', (at ?? 0) - 1) + 1;
      // A line that begins outside of the brackets is not deficient: the parser dislikes a tab in it.
      const isInside = at !== undefined && given.slice(start, at).trim() === '';
      const isDeficient = reason === 'deficient indentation' && isInside && !indented.includes(start);
      if (!isDeficient || indented.length === MOST_LINES)
        throw new ManifestError(yamlProblem(reason), at === undefined ? undefined : locationsIn(given)(at));
      indented.push(start);
    }
  }
}

function parseWith(given: string, indented: readonly number[]): ParsedText {
  const text = indentLines(given, indented);
  const events = parseEvents(text, {});
  // Of keys that are given twice kubectl takes the last.
  const documents = constructFromEvents(events, { source: text, schema: KUBECTL_SCHEMA, json: true });
  return { documents, text, roots: () => syntaxTrees(text, events), origin: originIn(indented) };
}

/** The text with these lines, which are given by their starts, indented. */
function indentLines(text: string, starts: readonly number[]): string {
  return [0, ...starts].map((start, i) => text.slice(start, starts[i])).join(DEEP);
}

/** From places in a text with indented lines to those without. A place inside an indentation becomes its end. */
function originIn(starts: readonly number[]): (offset: number) => number {
  const inserted = starts.map((start, i) => start + i * DEEP.length);
  return (offset) => {
    const before = inserted.findLastIndex((at) => at <= offset) + 1;
    return before === 0 ? offset : Math.max(starts[before - 1] ?? 0, offset - before * DEEP.length);
  };
}

/**
 * The documents of a text of YAML or JSON, as kubectl reads them: one value per document, null for an empty one.
 * Numbers beyond 2^53 are inexact in the values, but never in the text that is written.
 * @throws ManifestError
 */
export function readManifests(text: string): readonly JsonValue[] {
  return valuesOf(parseText(text));
}

/** The documents of a parsed text. @throws ManifestError if they are too many, or no JSON. */
export function valuesOf({ documents }: ParsedText): readonly JsonValue[] {
  checkSize(documents);
  return documents as JsonValue[];
}

/** Counts the values after alias expansion, visiting each node once. Refuses aliases that contain themselves. */
function checkSize(documents: readonly unknown[]): void {
  const sizes = new Map<unknown, number>();
  const sizeOf = (value: unknown): number => {
    if (!isArray(value) && !isObject(value)) {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw new ManifestError(`${value} is not a number in JSON: write a finite one`);
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
