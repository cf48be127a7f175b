import { type LevelWithSilent, type Logger, pino } from 'pino';

export type LogLine = Readonly<Record<string, unknown>>;

/** A logger whose lines a test can read. */
export function capturedLog(level: LevelWithSilent = 'debug'): {
  readonly log: Logger;
  readonly lines: LogLine[];
} {
  const lines: LogLine[] = [];
  const log = pino(
    { level, base: null, timestamp: false },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  return { log, lines };
}
