import type { Logger } from '../util/log.ts';
import { repeat } from '../util/repeat.ts';
import type { Task } from '../util/together.ts';
import type { Clock } from '../workqueue/clock.ts';

/** How a part of the process runs: once, and its failure ends the process, unless it says otherwise. */
export interface PartOptions {
  /** Resolves when all is known that the part has to know before it starts. */
  readonly after?: Task;
  /** Runs it again, so long after it has ended. */
  readonly everyMs?: number;
  /** Runs it again so long after a failure, or later where the API server asks for it; `everyMs` unless given. */
  readonly retryMs?: number;
  /** What is done about a failure after which it runs again; a line of the log unless given. */
  readonly failed?: (error: unknown) => void;
}

/** The part as one task. */
export function partOf(
  name: string,
  task: Task,
  options: PartOptions & { readonly clock: Clock; readonly log: Logger },
): Task {
  const { clock, log, after, everyMs, retryMs = everyMs } = options;
  const { failed = (err) => log.error({ part: name, err }, 'part failed: trying again') } = options;
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
