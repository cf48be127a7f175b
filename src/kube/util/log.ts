/** Writes one line: constant text, and the data in fields. */
interface LogLine {
  (fields: object, message: string): void;
  (message: string): void;
}

/** The methods that this library calls of a logger. A pino logger has them. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** A logger that adds the fields to each of its lines. */
  child(fields: Record<string, unknown>): Logger;
}
