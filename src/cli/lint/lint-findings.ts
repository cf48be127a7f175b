import type { TextSource } from '../../injection/manifests/template-file.ts';
import { templateName } from '../../injection/template/template-set.ts';
import { formatDiagnostic, type TextDiagnostic } from '../../util/diagnostic.ts';
import { type OutputFormat, printOutput } from '../io/output.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';

/** What is said about a text in a file, at its place there. The operator refuses a text with an error. */
export interface FileDiagnostic extends TextDiagnostic {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function inFile(file: string, text: TextSource, found: TextDiagnostic): FileDiagnostic {
  return { file, ...found, ...text.locate(found) };
}

/** Prints what was found and, without an error among it, the text of `fine`. Returns the exit code. */
export function reportFindings(
  terminal: Terminal,
  format: OutputFormat,
  found: readonly FileDiagnostic[],
  fine: () => string,
): ExitCode {
  printOutput(terminal, format, { value: found.map((each) => ({ ...each })), lines: found.map(lineOf) });
  const { length } = found.filter(({ severity }) => severity === 'error');
  const count = length === 1 ? '1 problem' : `${length} problems`;
  if (format === 'text') terminal.err(`${length === 0 ? fine() : count}\n`);
  return length > 0 ? 1 : 0;
}

/** One line: `web.yaml:3:5: template "config": containers[0].image: required…`. */
export function lineOf({ file, line, column, source, severity, ...rest }: FileDiagnostic): string {
  const name = templateName(source);
  const text = name === undefined ? source : `template ${JSON.stringify(name)}`;
  const said = `${text === '' ? '' : `${text}: `}${formatDiagnostic(rest)}`;
  return `${file}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${said}`;
}
