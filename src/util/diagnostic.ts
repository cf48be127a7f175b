import { clip } from './clip.ts';
import { formatPath, type Path } from './path.ts';

/** A mistake in the value at a path. The message says what is wrong, and what to write instead. */
interface Finding {
  readonly path: Path;
  readonly message: string;
}

export type Findings = Generator<Finding, void>;

/** A place in a text, both counted from 1. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

/** A finding as users see it. */
export interface Fault extends Partial<Location> {
  /** The key of the ConfigMap. */
  readonly source: string;
  /** Such as `containers[0].image`; empty if the fault is about the whole text. */
  readonly path: string;
  readonly message: string;
}

/** Report at most 20; the rest show up after the next fix. */
export const MAX_FAULTS = 20;
/** The longest line of a fault, in characters. */
const MAX_LINE = 1_000;

/** The first findings, with their places in the text. */
export function toFaults(
  source: string,
  findings: Iterable<Finding>,
  locate: (path: Path) => Location | undefined,
): readonly Fault[] {
  const faults: Fault[] = [];
  for (const { path, message } of findings) {
    faults.push({ source, path: formatPath(path), ...locate(path), message });
    if (faults.length === MAX_FAULTS) break;
  }
  return faults;
}

/** A fault as one line: `config:3:5: containers[0].image: required…`. Without a source: `line 3, column 5: …`. */
export function formatFault({ source, path, line, column, message }: Fault): string {
  const place =
    line === undefined ? '' : source === '' ? `line ${line}, column ${column}` : `:${line}:${column}`;
  return clip([`${source}${place}`, path, message].filter((part) => part !== '').join(': '), MAX_LINE);
}
