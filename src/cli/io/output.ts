import { Option } from 'commander';
import type { JsonValue } from '../../util/json.ts';
import { printBlock } from '../../util/manifests/kubectl-schema.ts';
import { oneOf } from '../options/option-values.ts';
import { harmless, type Terminal } from './terminal.ts';

/** Reports are text for people, and lists are a table. */
export type OutputFormat = 'text' | 'table' | 'json' | 'yaml';

/** `-o`, as in kubectl. The first format is the default. */
export function outputOption(...formats: readonly [OutputFormat, ...OutputFormat[]]): Option {
  return new Option('-o, --output <format>', 'output format')
    .choices(formats)
    .argParser(oneOf(...formats))
    .default(formats[0]);
}

/** Values in one format. Several are documents of YAML, or a List of JSON, as kubectl prints them. */
export function formatManifests(format: 'json' | 'yaml', objects: readonly JsonValue[]): string {
  if (format === 'yaml') return objects.map((object) => `${printBlock(object, false)}\n`).join('---\n');
  const [first, ...others] = objects;
  const value = others.length === 0 ? first : { apiVersion: 'v1', kind: 'List', items: [...objects] };
  return value === undefined ? '' : `${JSON.stringify(value, null, 2)}\n`;
}

/** The columns of a table: what each shows of a row, by its heading. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/** Prints a value for programs or, as text or a table, lines for people. */
export function printOutput(
  terminal: Terminal,
  format: OutputFormat,
  value: JsonValue,
  lines: readonly string[],
): void {
  if (format === 'json' || format === 'yaml') terminal.out(formatManifests(format, [value]));
  else terminal.out(lines.map((line) => `${harmless(line)}\n`).join(''));
}

/** The lines of a table. An empty one is no line, not a heading. */
export function tableOf<Row>(rows: readonly Row[], shown: Columns<Row>): readonly string[] {
  if (rows.length === 0) return [];
  return columns([Object.keys(shown), ...rows.map((row) => Object.values(shown).map((of) => of(row)))]);
}

/** Rows of text in columns, as kubectl prints them; the first row is the heading. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<readonly number[]>(
    (most, row) => row.map((cell, i) => Math.max(cell.length, most[i] ?? 0)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd((widths[i] ?? 0) + 3))
      .join('')
      .trimEnd(),
  );
}
