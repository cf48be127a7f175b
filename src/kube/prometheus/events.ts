import { Counter, type Registry } from 'prom-client';
import type { EventMetrics } from '../events/queued-event-recorder.ts';

/** Counts Events that were not recorded, by reason. */
export function eventMetrics(registry: Registry): EventMetrics {
  const dropped = new Counter({
    name: 'envoy_initializer_events_dropped_total',
    help: 'Events that were not recorded, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  return { dropped: (reason) => dropped.inc({ reason }) };
}
