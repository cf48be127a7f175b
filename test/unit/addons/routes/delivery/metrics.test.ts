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
  const metrics = routeMetrics(registry);
  for (let size = 1; size <= 101; size++) metrics.size(`ns-${size}`, size);
  metrics.size('ns-2', 1000);
  const series = await samples(registry, 'file_bytes');
  expect(series).toHaveLength(100);
  expect(series).toContain('{namespace="ns-2"} 1000');
  expect(series.join()).not.toContain('"ns-1"');
  metrics.reset();
  expect(await samples(registry, 'file_bytes')).toEqual([]);
});

test('what is written, refused and taken is counted, and who is behind is asked at each scrape', async () => {
  const registry = new Registry();
  const metrics = routeMetrics(registry);
  let [behind, older] = [3, 2];
  metrics.watch(
    () => behind,
    () => older,
    () => [{ route: 'a/b rules[0]', backend: 'a/"} 1:80', share: 0.9 }],
  );
  metrics.written();
  metrics.written();
  metrics.refused();
  metrics.taken(1.5);
  expect(await samples(registry, 'files_written_total')).toEqual([' 2']);
  expect(await samples(registry, 'files_refused_total')).toEqual([' 1']);
  expect(await samples(registry, 'sidecars_behind')).toEqual([' 3']);
  expect(await samples(registry, 'sidecars_with_older_configuration')).toEqual([' 2']);
  expect(await samples(registry, 'weight')).toEqual(['{route="a/b rules[0]",backend="a/\\"} 1:80"} 0.9']);
  [behind, older] = [0, 1];
  expect(await samples(registry, 'sidecars_behind')).toEqual([' 0']);
  expect(await samples(registry, 'sidecars_with_older_configuration')).toEqual([' 1']);
  const taken = await samples(registry, 'programmed_seconds');
  expect(taken).toContain('_bucket{le="1"} 0');
  expect(taken).toContain('_bucket{le="2"} 1');
  expect(taken).toContain('_sum 1.5');
});
