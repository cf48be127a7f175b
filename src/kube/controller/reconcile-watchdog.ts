import type { ObjectKey } from '../api/object.ts';
import { every } from '../util/every.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';
import type { Reconcile } from './controller.ts';

/** What a watchdog knows of one controller. */
export interface WatchedController {
  readonly name: string;
  /** A term of this leader works on its queue. */
  readonly running: boolean;
  /** Milliseconds since its heartbeat last came through the queue, or since its term began; undefined outside of terms. */
  readonly heartbeatAgeMs: number | undefined;
  /** Milliseconds since a reconcile last ended; undefined before the first one. */
  readonly reconcileAgeMs: number | undefined;
}

/** A reconcile to use in place of the one that was given, until the term ends. */
export interface WatchedTerm {
  readonly reconcile: Reconcile;
  end(): void;
}

interface Watched {
  terms: number;
  heardAt: number;
  reconciledAt: number | undefined;
  beating: Timer | undefined;
}

/** A key that passes through each queue. No object has it: names have no such character. */
const HEARTBEAT: ObjectKey = '<heartbeat>';
const HEARTBEAT_MS = 30_000;
/** Longer than any reconcile takes: a request to the API server is given up after 30 s, and fails its reconcile. */
const OVERDUE_MS = 300_000;

/**
 * Notices a leader whose controllers do nothing. While a controller has a term, a heartbeat goes through its queue, by
 * the way that event handlers use. A controller from which neither the heartbeat nor a reconcile comes is stuck.
 */
export class ReconcileWatchdog {
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Watches a term of the controller. Terms of one controller may overlap. */
  watch(name: string, queue: { add(key: ObjectKey): void }, reconcile: Reconcile): WatchedTerm {
    const now = () => this.#clock.now();
    const known = this.#watched.get(name);
    const watched = known ?? { terms: 0, heardAt: 0, reconciledAt: undefined, beating: undefined };
    this.#watched.set(name, watched);
    watched.terms++;
    watched.heardAt = now();
    watched.beating ??= every(this.#clock, HEARTBEAT_MS, () => queue.add(HEARTBEAT));
    return {
      async reconcile(key, signal) {
        if (key === HEARTBEAT) {
          watched.heardAt = now();
          return {};
        }
        try {
          return await reconcile(key, signal);
        } finally {
          watched.reconciledAt = now();
        }
      },
      end() {
        if (--watched.terms > 0) return;
        watched.beating?.cancel();
        watched.beating = undefined;
      },
    };
  }

  /** All controllers that have had a term. */
  controllers(): readonly WatchedController[] {
    const age = (at: number | undefined) => (at === undefined ? undefined : this.#clock.now() - at);
    return [...this.#watched].map(([name, { terms, heardAt, reconciledAt }]) => ({
      name,
      running: terms > 0,
      heartbeatAgeMs: terms > 0 ? age(heardAt) : undefined,
      reconcileAgeMs: age(reconciledAt),
    }));
  }

  /** What a restart would mend; undefined where nothing is stuck, and while no controller has a term. */
  problem(): string | undefined {
    for (const { name, heartbeatAgeMs, reconcileAgeMs = Number.POSITIVE_INFINITY } of this.controllers()) {
      if (heartbeatAgeMs === undefined) continue;
      const silentMs = Math.min(heartbeatAgeMs, reconcileAgeMs);
      if (silentMs > OVERDUE_MS) {
        return `controller ${name} has reconciled nothing for ${Math.round(silentMs / 1000)} s, though its heartbeat was due`;
      }
    }
    return undefined;
  }
}
