import { Option } from 'commander';
import type { JsonValue } from '../json/json.ts';
import { printBlock } from '../json/yaml-edit/print.ts';
import { oneOf } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export type OutputFormat = 'text' | 'json' | 'yaml';

/** `-o`, as in kubectl. */
export function outputOption(): Option {
  return new Option('-o, --output <format>', 'text (for people), json or yaml (for programs)')
    .argParser(oneOf('text', 'json', 'yaml'))
    .default('text');
}

/** Prints the lines for people, or the value for programs. */
export function printOutput(
  terminal: Terminal,
  format: OutputFormat,
  output: { readonly value: JsonValue; readonly lines: readonly string[] },
): void {
  if (format === 'json') terminal.out(`${JSON.stringify(output.value, null, 2)}\n`);
  else if (format === 'yaml') terminal.out(`${printBlock(output.value, false)}\n`);
  else terminal.out(output.lines.map((line) => `${line}\n`).join(''));
}
