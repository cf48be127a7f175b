import type { Fault } from '../../json/diagnostic.ts';
import type { TextSource } from '../../sidecar/manifests/template-file.ts';
import { type OutputFormat, printOutput } from '../output.ts';
import type { ExitCode, Terminal } from '../terminal.ts';

/** A fault of a text, and where it is. */
export interface LintFinding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The key of the ConfigMap; `config` for a template alone. */
  readonly key: string;
  /** `containers[0].image`; empty when it is about the whole text. */
  readonly path: string;
  readonly message: string;
  /** An error keeps the text from being used; a warning is doubtful, and no fault. */
  readonly severity: 'error' | 'warning';
}

export function toFinding(
  file: string,
  source: TextSource,
  fault: Fault,
  severity: LintFinding['severity'] = 'error',
): LintFinding {
  const { line, column } = source.locate(fault);
  return { file, line, column, key: fault.source, path: fault.path, message: fault.message, severity };
}

/** Prints what was found and, where no fault is among it, what `fine` says; returns the exit code. */
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
  const count = length === 1 ? '1 fault' : `${length} faults`;
  if (format === 'text') terminal.err(`${length === 0 ? fine() : count}\n`);
  return length > 0 ? 1 : 0;
}

function lineOf({ file, line, column, key, path, message, severity }: LintFinding): string {
  const parts = [severity === 'warning' ? severity : '', key, path, message];
  return `${file}:${line}:${column}: ${parts.filter((part) => part !== '').join(': ')}`;
}
