import { type Logger, pino } from 'pino';

export interface MemoryLog {
  readonly log: Logger;
  /** Every line so far, parsed. */
  readonly lines: readonly Record<string, unknown>[];
  /** The text of all lines. */
  readonly text: () => string;
}

/** A real logger that keeps its lines. */
export function memoryLog(): MemoryLog {
  const lines: Record<string, unknown>[] = [];
  const raw: string[] = [];
  const log = pino(
    { level: 'debug', base: null, timestamp: false },
    {
      write(line: string) {
        raw.push(line);
        lines.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
  );
  return { log, lines, text: () => raw.join('') };
}
