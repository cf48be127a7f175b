import perfHooks from 'node:perf_hooks';
import { expect, jest, test } from '@jest/globals';
import { createRegistry } from '../../../../src/kube/manager/registry.ts';

test('an idle process is woken at most ten times a second to sample the lag of its event loop', async () => {
  const monitor = jest.spyOn(perfHooks, 'monitorEventLoopDelay');
  const registry = createRegistry();
  expect(monitor.mock.calls).toEqual([[{ resolution: 100 }]]);
  expect(await registry.metrics()).toContain('nodejs_eventloop_lag_p99_seconds');
});
