import type { TextSource } from '../../injection/manifests/template-file.ts';
import { templateName } from '../../injection/template/template-set.ts';
import type { TextDiagnostic } from '../../util/diagnostic.ts';
import { type OutputFormat, printOutput } from '../io/output.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';

/** A fault in a file, and its place. */
export interface LintFinding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The key of the ConfigMap; `config` for a template alone. */
  readonly key: string;
  /** `containers[0].image`; empty when it is about the whole text. */
  readonly path: string;
  readonly message: string;
  /** The operator refuses a text with an error. A warning is not a fault. */
  readonly severity: 'error' | 'warning';
}

export function toFinding(
  file: string,
  source: TextSource,
  fault: TextDiagnostic,
  severity: LintFinding['severity'] = 'error',
): LintFinding {
  const { line, column } = source.locate(fault);
  return { file, line, column, key: fault.source, path: fault.path ?? '', message: fault.message, severity };
}

/** Prints the findings and, without an error among them, the text of `fine`. Returns the exit code. */
export function reportFindings(
  terminal: Terminal,
  format: OutputFormat,
  findings: readonly LintFinding[],
  fine: () => string,
): ExitCode {
  printOutput(terminal, format, {
    value: findings.map((finding) => ({ ...finding })),
    lines: findings.map(lineOf),
  });
  const { length } = findings.filter(({ severity }) => severity === 'error');
  const count = length === 1 ? '1 problem' : `${length} problems`;
  if (format === 'text') terminal.err(`${length === 0 ? fine() : count}\n`);
  return length > 0 ? 1 : 0;
}

/** A key of the ConfigMap in messages, such as `template "config"`. */
function describeKey(key: string): string {
  const name = templateName(key);
  return name === undefined ? key : `template ${JSON.stringify(name)}`;
}

/** A finding as one line: `web.yaml:3:5: template "config": containers[0].image: required…`. */
export function lineOf({ file, line, column, key, path, message, severity }: LintFinding): string {
  const parts = [severity === 'warning' ? severity : '', describeKey(key), path, message];
  return `${file}:${line}:${column}: ${parts.filter((part) => part !== '').join(': ')}`;
}
