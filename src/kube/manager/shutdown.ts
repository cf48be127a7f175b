import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';

/**
 * A signal that aborts when the process is told to end (SIGTERM by the kubelet, SIGINT by Ctrl-C). A second one ends it
 * at once, as people expect of a Ctrl-C that seems to hang.
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

/** The time that all steps of a shutdown share: their sum stays below what the kubelet grants. */
export class ShutdownBudget {
  readonly #options: ShutdownBudgetOptions;
  #endsAt: number | undefined;

  constructor(options: ShutdownBudgetOptions) {
    this.#options = options;
  }

  /** Starts to count; later calls change nothing. */
  start(): void {
    this.#endsAt ??= this.#options.clock.now() + this.#options.totalMs;
  }

  /** What is left, in milliseconds; all of it before the start. */
  get leftMs(): number {
    const { clock, totalMs } = this.#options;
    return this.#endsAt === undefined ? totalMs : Math.max(0, this.#endsAt - clock.now());
  }

  /**
   * Waits until the work has settled, but only until `reserveMs` are left for the steps after it. Never rejects: an
   * error of the work is its owner's to report.
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
    if (late) log.warn({ step, leftMs: Math.round(this.leftMs) }, 'left behind a step of the shutdown');
  }
}
