import type { Logger } from '../util/log.ts';
import { repeat } from '../util/repeat.ts';
import type { Task } from '../util/together.ts';
import type { Clock } from '../workqueue/clock.ts';

/** How a part of the process runs. */
export interface PartOptions {
  /** Resolves when all is known that the part has to know before it starts. */
  readonly after?: Task;
  /** Runs it again, so long after it has ended, and after it has failed too. Otherwise a failure ends the process. */
  readonly everyMs?: number;
  /** What is done about a failure of a part that runs again; a line of the log unless given. */
  readonly failed?: (error: unknown) => void;
}

/** The part as one task. */
export function partOf(
  name: string,
  task: Task,
  { after, everyMs, failed, clock, log }: PartOptions & { readonly clock: Clock; readonly log: Logger },
): Task {
  const logged = (err: unknown) => log.error({ part: name, err }, 'part failed: trying again');
  return async (signal) => {
    try {
      await after?.(signal);
      if (signal.aborted) return;
      if (everyMs === undefined) await task(signal);
      else await repeat(task, { clock, everyMs, failed: failed ?? logged }, signal);
    } catch (err) {
      if (!signal.aborted) log.error({ part: name, err }, 'part failed');
      throw err;
    }
  };
}
