import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { routeMetrics } from '../../../../../src/addons/routes/delivery/metrics.ts';

/** The samples of a metric, as `LABELS VALUE`. */
async function samples(registry: Registry, name: string): Promise<readonly string[]> {
  const text = await registry.getSingleMetricAsString(`envoy_initializer_routes_${name}`);
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(`envoy_initializer_routes_${name}`, ''));
}

test('the files of the 100 largest namespaces have series, until the end of the term', async () => {
  const registry = new Registry();
  const metrics = routeMetrics(registry, {
    behind: () => 0,
    weights: () => [],
  });
  for (let size = 1; size <= 101; size++) metrics.size(`ns-${size}`, size);
  metrics.size('ns-2', 1000);
  const series = await samples(registry, 'file_bytes');
  expect(series).toHaveLength(100);
  expect(series).toContain('{namespace="ns-2"} 1000');
  expect(series.join()).not.toContain('"ns-1"');
  metrics.reset();
  expect(await samples(registry, 'file_bytes')).toEqual([]);
});
