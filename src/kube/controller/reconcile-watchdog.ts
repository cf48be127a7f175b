import type { ObjectKey } from '../api/object.ts';
import { every } from '../util/every.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';
import type { Reconcile } from './controller.ts';

/** The watchdog's state of one controller. */
export interface WatchedController {
  readonly name: string;
  /** A term of this leader works on its queue. */
  readonly running: boolean;
  /** Milliseconds since its heartbeat last passed the queue, or since its term began; undefined outside of terms. */
  readonly heartbeatAgeMs: number | undefined;
  /** Milliseconds since a reconcile last ended; undefined before the first one. */
  readonly reconcileAgeMs: number | undefined;
}

/** The reconcile to use in place of the given one, until the term ends. */
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

/** A key that passes through each queue. It is not an object's key: names do not have such characters. */
const HEARTBEAT: ObjectKey = '<heartbeat>';
const HEARTBEAT_MS = 30_000;
/** Longer than any reconcile takes: a request to the API server times out after 30 s, and fails its reconcile. */
const OVERDUE_MS = 300_000;

/**
 * Detects a leader whose controllers do nothing. While a controller has a term, a heartbeat passes through its queue,
 * in the same way as events. A controller without heartbeats and without reconciles is stuck.
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

  /** The problem that a restart would fix; undefined if no controller is stuck, and while none has a term. */
  problem(): string | undefined {
    for (const { name, heartbeatAgeMs, reconcileAgeMs = Number.POSITIVE_INFINITY } of this.controllers()) {
      if (heartbeatAgeMs === undefined) continue;
      const silentMs = Math.min(heartbeatAgeMs, reconcileAgeMs);
      if (silentMs > OVERDUE_MS) {
        return `controller ${name} is stuck: no reconcile and no heartbeat for ${Math.round(silentMs / 1000)} s`;
      }
    }
    return undefined;
  }
}
