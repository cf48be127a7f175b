import { CORE_SCHEMA, intCoreTag, load, parseEvents, YAMLException } from 'js-yaml';
import {
  type Findings,
  type Location,
  locateAll,
  locationsIn,
  type Parsed,
  type Path,
  textError,
} from './diagnostic.ts';
import { isArray, isObject, type JsonValue } from './json.ts';
import { type SyntaxNode, startOf, syntaxTrees } from './manifests/syntax.ts';

/** The API server limits all data of a ConfigMap together to 1 MiB (MaxSecretSize). */
const MAX_LENGTH = 1024 * 1024;
/** Limit on the values once aliases are expanded: nested aliases can double a text with every level. */
const MAX_VALUES = 10_000;
/** js-yaml's limit on nesting ignores aliases, and an alias may contain itself. */
const MAX_DEPTH = 100;

type ParsedYaml =
  | { readonly value: JsonValue; readonly locate: (path: Path) => Location | undefined }
  | { readonly error: string; readonly location: Location | undefined };

/**
 * YAML 1.2, core schema: `on` and `yes` are strings. A number with leading zeros stays text: YAML 1.1 and
 * kubectl read it as octal, YAML 1.2 as decimal.
 */
const schema = CORE_SCHEMA.withTags({
  ...intCoreTag,
  resolve: (source: string, isExplicit: boolean, tagName: string) =>
    /^[-+]?0[0-9]/.test(source) && /^[-+]?[0-9]+$/.test(source)
      ? source
      : intCoreTag.resolve(source, isExplicit, tagName),
});

/** Parses one YAML document into plain JSON. Limits its size and the expansion of aliases. */
export function parseYaml(text: string): ParsedYaml {
  if (text.length > MAX_LENGTH) {
    return { error: `is longer than ${MAX_LENGTH} characters: shorten it`, location: undefined };
  }
  try {
    const value = expand(load(text, { schema }), { left: MAX_VALUES }, 0);
    return { value, locate: locator(text) };
  } catch (err) {
    // js-yaml may throw any exception, and a ConfigMap must not stop the process.
    if (!(err instanceof YAMLException)) return { error: `cannot be parsed: ${err}`, location: undefined };
    const location = err.mark && { line: err.mark.line + 1, column: err.mark.column + 1 };
    const isEmpty = /input is empty$/.test(err.reason);
    return { error: isEmpty ? 'is empty' : location ? yamlProblem(err.reason) : err.reason, location };
  }
}

/** What a YAML text contains, or what is wrong with it. Each check relies on those before it having found nothing. */
export function checkYaml(
  source: string,
  text: string,
  ...checks: readonly ((value: JsonValue) => Findings)[]
): Parsed<Exclude<ParsedYaml, { error: string }>> {
  const parsed = parseYaml(text);
  if ('error' in parsed) return { faults: [textError(source, parsed.error, parsed.location)] };
  for (const check of checks) {
    const faults = locateAll(source, 'error', check(parsed.value), parsed.locate);
    if (faults.length > 0) return { faults };
  }
  return parsed;
}

/** A syntax error in YAML as users see it. */
export function yamlProblem(reason: string): string {
  if (reason === 'deficient indentation')
    return 'invalid YAML: a ] or } is missing before this line, or the line needs more indentation';
  return `invalid YAML: ${reason}${/indentation/.test(reason) ? ': check the indentation' : ''}`;
}

/** The value with a copy in place of each alias: JSON has no references. */
function expand(value: unknown, budget: { left: number }, depth: number): JsonValue {
  budget.left -= 1;
  if (budget.left < 0) throw new YAMLException(`more than ${MAX_VALUES} values once aliases are expanded`);
  if (depth > MAX_DEPTH) throw new YAMLException(`nested deeper than ${MAX_DEPTH} once aliases are expanded`);
  if (isArray(value)) return value.map((item) => expand(item, budget, depth + 1));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, expand(item, budget, depth + 1)]),
    );
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new YAMLException(`${value} is not a number in JSON: write a finite one`);
  }
  return value as JsonValue;
}

/** Finds the place of the value at a path, or of its nearest parent in the text. */
function locator(text: string): (path: Path) => Location | undefined {
  let root: SyntaxNode | undefined;
  const locationOf = locationsIn(text);
  return (path) => {
    root ??= syntaxTrees(text, parseEvents(text, {}))[0];
    if (!root) return undefined;
    const start = startOf(root, path);
    // The first character of a text in quotes.
    return locationOf(/["']/.test(text[start] ?? '') ? start + 1 : start);
  };
}
