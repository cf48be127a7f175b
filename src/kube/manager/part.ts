import type { Logger } from '../util/log.ts';
import { repeat } from '../util/repeat.ts';
import type { Task } from '../util/together.ts';
import type { Clock } from '../workqueue/clock.ts';

/** How a part of the process runs. By default it runs once, and its failure ends the process. */
export interface PartOptions {
  /** Resolves when the data that the part needs is available; the part starts then. */
  readonly after?: Task;
  /** Runs it again this long after it has ended. */
  readonly everyMs?: number;
  /** Runs it again this long after a failure, or later if the API server asks for it; default `everyMs`. */
  readonly retryMs?: number;
  /** Handles a failure after which it runs again; default a log line. */
  readonly failed?: (error: unknown) => void;
}

/** The part as one task. */
export function partOf(
  name: string,
  task: Task,
  options: PartOptions & { readonly clock: Clock; readonly log: Logger },
): Task {
  const { clock, log, after, everyMs, retryMs = everyMs } = options;
  const { failed = (err) => log.error({ part: name, err }, 'part failed, retrying') } = options;
  return async (signal) => {
    try {
      await after?.(signal);
      if (signal.aborted) return;
      if (retryMs === undefined) await task(signal);
      else await repeat(task, { clock, everyMs, retryMs, failed }, signal);
    } catch (err) {
      if (!signal.aborted) log.error({ part: name, err }, 'part failed');
      throw err;
    }
  };
}
