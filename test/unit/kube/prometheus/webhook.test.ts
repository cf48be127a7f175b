import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { webhookMetrics } from '../../../../src/kube/prometheus/webhook.ts';

test('calls under way are those that have begun and not ended, at the moment that they are asked for', async () => {
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
