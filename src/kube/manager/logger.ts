import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Lines are written in batches of this size, or after this time. */
const BATCH_BYTES = 4096;
const BATCH_MS = 100;
/** If the reader is too slow, drop lines instead of blocking. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The process's logger: lines on standard output for programs (JSON) or for people. pino writes waiting lines when the
 * process ends, also by process.exit and by an exception, but not by SIGKILL.
 */
export async function createLogger(level: LogLevel, format: 'json' | 'pretty'): Promise<Logger> {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    },
    format === 'json' ? jsonLines() : await prettyLines(),
  );
}

async function prettyLines(): Promise<DestinationStream> {
  // Only these lines need it.
  const { default: pretty } = await import('pino-pretty');
  // In this process, not in pino's worker thread, so that the last lines before an exit are not lost.
  return pretty({
    sync: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
}

/** JSON is written asynchronously, since a line for each pod must not delay the webhook. */
function jsonLines(): DestinationStream {
  return pino.destination({
    sync: false,
    minLength: BATCH_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: BATCH_MS,
  });
}
