/** Writes one line: constant text, with the data in fields beside it. */
interface LogLine {
  (fields: object, message: string): void;
  (message: string): void;
}

/** What this library asks of a logger. A pino logger is one. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** A logger that adds the fields to each of its lines. */
  child(fields: Record<string, unknown>): Logger;
}
