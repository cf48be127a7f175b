import { Option } from 'commander';
import type { JsonValue } from '../../util/json.ts';
import { printBlock } from '../../util/yaml-edit/entries.ts';
import { oneOf } from '../options/option-values.ts';
import { columns } from './columns.ts';
import { harmless, type Terminal } from './terminal.ts';

/** Reports are text for people. Lists are a table, with more columns in `wide`, or the names of their objects. */
export type OutputFormat = 'text' | 'table' | 'wide' | 'name' | 'json' | 'yaml';

/** `-o`, as in kubectl. The first format is the default. */
export function outputOption(...formats: readonly [OutputFormat, ...OutputFormat[]]): Option {
  return new Option('-o, --output <format>', 'format of the output')
    .choices(formats)
    .argParser(oneOf(...formats))
    .default(formats[0]);
}

/** `-o` of the commands that print manifests. `otherwise` is the format without it. */
export function manifestOption(otherwise: string): Option {
  return new Option('-o, --output <format>', `format of the manifests (default: ${otherwise})`)
    .choices(['json', 'yaml'])
    .argParser(oneOf('json', 'yaml'));
}

/** Manifests in one format. Several are documents of YAML, or a List of JSON, as kubectl prints them. */
export function formatManifests(format: 'json' | 'yaml', objects: readonly JsonValue[]): string {
  if (format === 'yaml') return objects.map((object) => `${printBlock(object, false)}\n`).join('---\n');
  const [first, ...others] = objects;
  const value = others.length === 0 ? first : { apiVersion: 'v1', kind: 'List', items: [...objects] };
  return value === undefined ? '' : `${JSON.stringify(value, null, 2)}\n`;
}

/** A column of a table of rows. */
export interface Column<Row> {
  readonly name: string;
  readonly of: (row: Row) => string;
  /** Only `-o wide` shows it. */
  readonly isWide?: true;
}

/** What a command prints for people, in one of these ways, and for programs. */
export interface Output<Row> {
  readonly value: JsonValue;
  /** The text of `-o text`; without it, that is the table. */
  readonly lines?: readonly string[];
  readonly list?: {
    readonly rows: readonly Row[];
    readonly columns: readonly Column<Row>[];
    /** As in `kubectl get -o name`, such as `pod/web-0`. */
    readonly nameOf: (row: Row) => string;
    /** Lines below the table. */
    readonly summary?: string | readonly string[];
  };
}

/** Prints the output in this format. An empty list is an empty text, not a heading. */
export function printOutput<Row>(terminal: Terminal, format: OutputFormat, output: Output<Row>): void {
  if (format === 'json') terminal.out(`${JSON.stringify(output.value, null, 2)}\n`);
  else if (format === 'yaml') terminal.out(`${printBlock(output.value, false)}\n`);
  else
    terminal.out(
      linesOf(format, output)
        .map((line) => `${painted(terminal, harmless(line))}\n`)
        .join(''),
    );
}

function linesOf<Row>(format: OutputFormat, { lines, list }: Output<Row>): readonly string[] {
  if (list === undefined || (format === 'text' && lines !== undefined)) return lines ?? [];
  const { rows, nameOf, summary = [] } = list;
  if (format === 'name') return rows.map(nameOf);
  if (rows.length === 0) return [summary].flat();
  const shown = list.columns.filter(({ isWide }) => format === 'wide' || isWide !== true);
  const cells = rows.map((row) => shown.map(({ of }) => of(row)));
  return [...columns([shown.map(({ name }) => name), ...cells]), ...[summary].flat()];
}

/** Findings and warnings get a color, if the terminal shows colors. */
function painted(terminal: Terminal, line: string): string {
  if (/^ *! /.test(line)) return terminal.paint('red', line);
  return / warning: /.test(line) ? terminal.paint('yellow', line) : line;
}
