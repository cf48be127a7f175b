import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { cacheMetrics, watchdogMetrics } from '../../../../src/kube/prometheus/index.ts';

test('the metrics of caches show the stalest cache of a resource, and forget a cache that ended', async () => {
  const registry = new Registry();
  let now = 1_000_000;
  const metrics = cacheMetrics(registry, () => now);
  const samples = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const contact = 'envoy_initializer_cache_last_contact_timestamp_seconds{resource="pods"}';
  const synced = 'envoy_initializer_cache_synced{resource="pods"}';

  const [first, second] = [metrics.started('pods'), metrics.started('pods')];
  expect(await samples()).toEqual([`${synced} 0`]);
  first.heard();
  now += 30_000;
  expect(await samples()).toEqual([`${contact} 1000`, `${synced} 0`]);
  second.heard();
  expect(await samples()).toEqual([`${contact} 1000`, `${synced} 1`]);
  first.heard();
  expect(await samples()).toEqual([`${contact} 1030`, `${synced} 1`]);
  now += 30_000;
  second.heard();
  first.ended();
  expect(await samples()).toEqual([`${contact} 1060`, `${synced} 1`]);
  second.ended();
  expect(await samples()).toEqual([]);
});

test('the metrics of controllers show ages as timestamps, and no series for missing ages', async () => {
  const registry = new Registry();
  const controllers = () => [
    { name: 'network', running: true, heartbeatAgeMs: 20_000, reconcileAgeMs: 5_000 },
    { name: 'drift', running: false, heartbeatAgeMs: undefined, reconcileAgeMs: undefined },
  ];
  watchdogMetrics(registry, controllers, () => 1_000_000);
  const samples = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
  expect(samples).toEqual([
    'envoy_initializer_controller_term_running{controller="network"} 1',
    'envoy_initializer_controller_term_running{controller="drift"} 0',
    'envoy_initializer_controller_heartbeat_timestamp_seconds{controller="network"} 980',
    'envoy_initializer_controller_last_reconcile_timestamp_seconds{controller="network"} 995',
  ]);
});
