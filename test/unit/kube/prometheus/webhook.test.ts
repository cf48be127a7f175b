import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { webhookMetrics } from '../../../../src/kube/prometheus/webhook.ts';

test('the gauge of requests in flight is read at the scrape', async () => {
  const registry = new Registry();
  const metrics = webhookMetrics(registry);
  const underWay = async () =>
    (await registry.metrics()).match(/^controller_runtime_webhook_requests_in_flight\{.*$/gm);
  const line = (path: string, calls: number) =>
    `controller_runtime_webhook_requests_in_flight{webhook="${path}"} ${calls}`;
  expect(await underWay()).toBeNull();
  metrics.inFlight('/inject', 1);
  metrics.inFlight('/inject', 1);
  metrics.inFlight('/attach', 1);
  expect(await underWay()).toEqual([line('/inject', 2), line('/attach', 1)]);
  metrics.inFlight('/inject', -1);
  metrics.inFlight('/attach', -1);
  expect(await underWay()).toEqual([line('/inject', 1), line('/attach', 0)]);
});
