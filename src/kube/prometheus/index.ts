/** The library's metrics in a registry of prom-client. The Manager registers them; this is for programs without one. */
export { cacheMetrics } from './cache.ts';
export { clientMetrics } from './client.ts';
export { controllerMetrics } from './controller.ts';
export { eventMetrics } from './events.ts';
export { leaderMetrics } from './leader.ts';
export { queueMetrics } from './queue.ts';
export { watchdogMetrics } from './watchdog.ts';
export { webhookMetrics } from './webhook.ts';
