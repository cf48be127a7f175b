import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';

/**
 * A signal that aborts on SIGTERM (by the kubelet) and SIGINT (by Ctrl-C). A second signal ends the process at once, as
 * users expect of a second Ctrl-C.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
      controller.abort(new Error(name));
    });
  }
  return controller.signal;
}

export interface ShutdownBudgetOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** For all steps together. */
  readonly totalMs: number;
}

/** The time that all steps of a shutdown share: together they take less than the kubelet's grace period. */
export class ShutdownBudget {
  readonly #options: ShutdownBudgetOptions;
  #endsAt: number | undefined;

  constructor(options: ShutdownBudgetOptions) {
    this.#options = options;
  }

  /** Starts the clock; later calls change nothing. */
  start(): void {
    this.#endsAt ??= this.#options.clock.now() + this.#options.totalMs;
  }

  /** The remaining time in milliseconds; the whole time before start(). */
  get leftMs(): number {
    const { clock, totalMs } = this.#options;
    return this.#endsAt === undefined ? totalMs : Math.max(0, this.#endsAt - clock.now());
  }

  /**
   * Waits until the work has settled, or until only `reserveMs` are left for later steps. Never rejects: the owner of
   * the work reports its error.
   */
  async wait(step: string, work: Promise<unknown>, reserveMs: number): Promise<void> {
    const { clock, log } = this.#options;
    this.start();
    const settled = new AbortController();
    const end = () => settled.abort();
    work.then(end, end);
    // Rejects when the work has settled first.
    const late = await sleep(clock, Math.max(0, this.leftMs - reserveMs), settled.signal).then(
      () => true,
      () => false,
    );
    if (late) log.warn({ step, leftMs: Math.round(this.leftMs) }, 'shutdown step did not end in time');
  }
}
