import { constructFromEvents, parseEvents, YAMLException } from 'js-yaml';
import { countBelow, type Location, locationsIn } from '../diagnostic.ts';
import { yamlProblem } from '../yaml.ts';
import { type Insertion, missingIndentation } from './continuation-lines.ts';
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

/** @throws ManifestError */
export function parseText(given: string): ParsedText {
  try {
    return parseWith(given, []);
  } catch (err) {
    const insertions = missingIn(given, err);
    if (insertions.length === 0) throw explained(err, given, insertions);
    try {
      return parseWith(given, insertions);
    } catch (again) {
      throw explained(again, given, insertions);
    }
  }
}

/** What the parser wants and kubectl does not, from the parser's error. */
function missingIn(given: string, err: unknown): readonly Insertion[] {
  const isMissing = err instanceof YAMLException && err.reason === 'deficient indentation';
  return isMissing ? missingIndentation(given) : [];
}

/** An error of the parser, with its place in the given text. */
function explained(err: unknown, given: string, insertions: readonly Insertion[]): unknown {
  if (!(err instanceof YAMLException)) return err;
  const { reason, mark } = err;
  return new ManifestError(
    yamlProblem(reason),
    mark && locationsIn(given)(originIn(insertions)(mark.position)),
  );
}

function parseWith(given: string, insertions: readonly Insertion[]): ParsedText {
  const text = insertAll(given, insertions);
  const events = parseEvents(text, {});
  // Of keys that are given twice kubectl takes the last.
  const documents = constructFromEvents(events, { source: text, schema: KUBECTL_SCHEMA, json: true });
  return { documents, text, roots: () => syntaxTrees(text, events), origin: originIn(insertions) };
}

function insertAll(text: string, insertions: readonly Insertion[]): string {
  if (insertions.length === 0) return text;
  let at = 0;
  const parts = insertions.map((insertion) => {
    const before = text.slice(at, insertion.at);
    at = insertion.at;
    return before + insertion.text;
  });
  return parts.join('') + text.slice(at);
}

/** From places in a text with insertions to those without. A place inside an insertion becomes that of the insertion. */
function originIn(insertions: readonly Insertion[]): (offset: number) => number {
  let inserted = 0;
  const known = insertions.map(({ at, text }) => {
    const start = at + inserted;
    inserted += text.length;
    return { at, start, inserted };
  });
  const starts = known.map(({ start }) => start);
  return (offset) => {
    const last = known[countBelow(starts, offset + 1) - 1];
    return last ? Math.max(last.at, offset - last.inserted) : offset;
  };
}
