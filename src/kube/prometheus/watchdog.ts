import { Gauge, type Registry } from 'prom-client';
import type { WatchedController } from '../controller/leader-controller.ts';

/** The state of the watchdog, read at each scrape. */
export function watchdogMetrics(
  registry: Registry,
  watchdog: { controllers(): readonly WatchedController[] },
  wallClock: () => number,
): void {
  const gauge = (name: string, help: string, read: (controller: WatchedController) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['controller'],
      registers: [registry],
      collect() {
        this.reset();
        for (const controller of watchdog.controllers()) {
          const value = read(controller);
          if (value !== undefined) this.set({ controller: controller.name }, value);
        }
      },
    });
  const secondsSince = (ageMs: number | undefined) =>
    ageMs === undefined ? undefined : (wallClock() - ageMs) / 1000;
  gauge(
    'envoy_initializer_controller_term_running',
    '1 while a term of this leader works on the queue',
    ({ running }) => (running ? 1 : 0),
  );
  gauge(
    'envoy_initializer_controller_heartbeat_timestamp_seconds',
    'Time when the heartbeat last passed through the queue; absent outside of terms',
    ({ heartbeatAgeMs }) => secondsSince(heartbeatAgeMs),
  );
  gauge(
    'envoy_initializer_controller_last_reconcile_timestamp_seconds',
    'Time when the last reconcile ended',
    ({ reconcileAgeMs }) => secondsSince(reconcileAgeMs),
  );
}
