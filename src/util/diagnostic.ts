import { clip } from './clip.ts';

/** What is said about an object, in answers, Events, logs and on the command line. */
export interface Diagnostic<Reason extends string = string> {
  /** An error keeps the object from being used; a warning does not. */
  readonly severity: 'error' | 'warning';
  readonly reason: Reason;
  /** Such as `containers[0].image`; absent if it is about the whole object. */
  readonly path?: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** A diagnostic about a text, such as a key of a ConfigMap. */
export interface TextDiagnostic extends Diagnostic, Partial<Location> {
  /** The key of the text. */
  readonly source: string;
}

/** What a text says, or all that is wrong with it. */
export type Parsed<T> = T | { readonly faults: readonly TextDiagnostic[] };

/** A place in a text, both counted from 1. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

/** What a check finds in a value: the path from there, and a message. */
export type Findings = Generator<{ readonly path: Path; readonly message: string }, void>;

/** Report at most 20; the rest show up after the next fix. */
export const MAX_DIAGNOSTICS = 20;
/** The longest line of a diagnostic, in characters. */
const MAX_LINE = 1_000;

export function textError(
  source: string,
  message: string,
  place: Partial<Location> & { readonly path?: string } = {},
): TextDiagnostic {
  return { severity: 'error', reason: 'invalid', source, ...place, message };
}

/** The first findings, with their places in the text. */
export function locateAll(
  source: string,
  severity: Diagnostic['severity'],
  findings: Findings,
  locate: (path: Path) => Location | undefined,
): readonly TextDiagnostic[] {
  const reason = severity === 'error' ? 'invalid' : 'advice';
  const found: TextDiagnostic[] = [];
  for (const { path, message } of findings) {
    found.push({ severity, reason, source, path: formatPath(path), ...locate(path), message });
    if (found.length === MAX_DIAGNOSTICS) break;
  }
  return found;
}

/** A diagnostic without its reason: `spec.volumes[name=data]: the template…`. */
export function formatDiagnostic({ path, message }: Pick<Diagnostic, 'path' | 'message'>): string {
  return path ? `${path}: ${message}` : message;
}

/** The same in its text: `config:3:5: containers[0].image: required…`. Without a source: `line 3, column 5: …`. */
export function formatInText({ source, line, column, ...rest }: TextDiagnostic): string {
  const place =
    line === undefined
      ? source
      : source === ''
        ? `line ${line}, column ${column}`
        : `${source}:${line}:${column}`;
  return clip(place === '' ? formatDiagnostic(rest) : `${place}: ${formatDiagnostic(rest)}`, MAX_LINE);
}

/** The path to a value: keys of objects and indices of lists. */
export type Path = readonly (string | number)[];

/** A path as users write it: `containers[0].image`, `labels["example.com/team"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** Returns a function from offsets to lines and columns. It indexes the line breaks once, at its first call. */
export function locationsIn(text: string): (offset: number) => Location {
  let breaks: readonly number[] | undefined;
  return (offset) => {
    breaks ??= Array.from(text.matchAll(/\n/g), ({ index }) => index);
    const before = breaks.findLastIndex((at) => at < offset) + 1;
    return { line: before + 1, column: offset - (breaks[before - 1] ?? -1) };
  };
}
