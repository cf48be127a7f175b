import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { cacheMetrics } from '../../../../src/kube/prometheus/index.ts';

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
