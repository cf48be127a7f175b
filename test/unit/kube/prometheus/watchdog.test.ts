import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { watchdogMetrics } from '../../../../src/kube/prometheus/watchdog.ts';

test('shows ages as timestamps, and no series for missing ages', async () => {
  const registry = new Registry();
  const controllers = () => [
    { name: 'network', running: true, heartbeatAgeMs: 20_000, reconcileAgeMs: 5_000 },
    { name: 'drift', running: false, heartbeatAgeMs: undefined, reconcileAgeMs: undefined },
  ];
  watchdogMetrics(registry, { controllers }, () => 1_000_000);
  const samples = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
  expect(samples).toEqual([
    'envoy_initializer_controller_term_running{controller="network"} 1',
    'envoy_initializer_controller_term_running{controller="drift"} 0',
    'envoy_initializer_controller_heartbeat_timestamp_seconds{controller="network"} 980',
    'envoy_initializer_controller_last_reconcile_timestamp_seconds{controller="network"} 995',
  ]);
});
