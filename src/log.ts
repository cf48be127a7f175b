import { type Logger, pino, stdTimeFunctions } from 'pino';
import { PinoPretty } from 'pino-pretty';

/** The process's logger: JSON lines, or lines for people, on standard output. */
export function createLogger(level: string, format: 'json' | 'pretty'): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // In this process, not in pino's worker thread: the last lines of a process that ends are then not lost.
  return format === 'json'
    ? pino(options)
    : pino(
        options,
        PinoPretty({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }),
      );
}
