import { type Logger, pino, stdTimeFunctions } from 'pino';
import { PinoPretty } from 'pino-pretty';

/** Lines are written together: at so many bytes, or after so long. */
const BATCH_BYTES = 4096;
const BATCH_MS = 100;
/** Who reads too slowly loses lines, and holds up nobody. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How much is logged, from the next line on. */
export interface LogVerbosity {
  level(): string;
  setLevel(level: LogLevel): void;
}

/**
 * The process's logger: JSON lines, or lines for people, on standard output. JSON is written behind the back of whoever
 * logs, since a line for each pod must not hold up the webhook; what waits is written when the process ends (pino sees
 * to it), also by process.exit and by an exception, but not by SIGKILL.
 */
export function createLogger(
  level: LogLevel,
  format: 'json' | 'pretty',
): { readonly log: Logger; readonly verbosity: LogVerbosity } {
  // A child has a level of its own from when it is made, and would keep it.
  const children: WeakRef<Logger>[] = [];
  const options = {
    level,
    base: null,
    onChild: (child: Logger) => void children.push(new WeakRef(child)),
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // In this process, not in pino's worker thread: the last lines of a process that ends are then not lost.
  const log =
    format === 'json'
      ? pino(
          options,
          pino.destination({
            sync: false,
            minLength: BATCH_BYTES,
            periodicFlush: BATCH_MS,
            maxLength: MAX_WAITING_BYTES,
          }),
        )
      : pino(
          options,
          PinoPretty({
            sync: true,
            ignore: 'pid,hostname',
            translateTime: 'SYS:HH:MM:ss.l',
            singleLine: true,
          }),
        );
  const verbosity: LogVerbosity = {
    level: () => log.level,
    setLevel(wanted) {
      for (const each of [log, ...children.map((child) => child.deref())]) if (each) each.level = wanted;
    },
  };
  return { log, verbosity };
}
