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

/** The time that all steps of a shutdown share: together they take less than the kubelet's grace period. */
export class ShutdownBudget {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #totalMs: number;
  #endsAt: number | undefined;

  constructor(clock: Clock, log: Logger, totalMs: number) {
    this.#clock = clock;
    this.#log = log;
    this.#totalMs = totalMs;
  }

  /** Starts the clock; later calls change nothing. */
  start(): void {
    this.#endsAt ??= this.#clock.now() + this.#totalMs;
  }

  /** The remaining time in milliseconds; the whole time before start(). */
  get leftMs(): number {
    return this.#endsAt === undefined ? this.#totalMs : Math.max(0, this.#endsAt - this.#clock.now());
  }

  /**
   * Waits until the work has settled, or until only `reserveMs` are left for later steps. Never rejects: the owner of
   * the work reports its error.
   */
  async wait(step: string, work: Promise<unknown>, reserveMs: number): Promise<void> {
    this.start();
    const settled = new AbortController();
    const end = () => settled.abort();
    work.then(end, end);
    // Rejects when the work has settled first.
    const late = await sleep(this.#clock, Math.max(0, this.leftMs - reserveMs), settled.signal).then(
      () => true,
      () => false,
    );
    if (late) this.#log.warn({ step, leftMs: Math.round(this.leftMs) }, 'shutdown step did not end in time');
  }
}
