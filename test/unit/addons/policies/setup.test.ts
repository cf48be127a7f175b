import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { setUpPolicies } from '../../../../src/addons/policies/setup.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { testManager } from '../../../support/kube/test-manager.ts';
import { coreOf } from '../../../support/operator/core-of.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** Policies whose API server answers the question about them so, and begins lists that do not end. */
function policiesOf(discovery: () => unknown) {
  const { log } = capturedLog();
  const clock = new FakeClock();
  const requests: string[] = [];
  const lists: string[] = [];
  const client = {
    async request(method: string, path: string) {
      requests.push(`${method} ${path}`);
      return discovery();
    },
    async list({ plural }: Resource<KubeObject>, { signal }: { signal: AbortSignal }) {
      lists.push(plural);
      await once(signal, 'abort');
      throw signal.reason;
    },
  } as unknown as KubeClient;
  const manager = testManager({ client, clock, log });
  const core = coreOf({
    newPods: { forPolicies: () => ({ state: { fault: 'not read yet' }, canary: undefined }), onChanged() {} },
    serverMinor: { current: () => undefined, onChanged() {} },
    namespaces: { unseen: () => ({}), onUnseen() {} },
  });
  setUpPolicies(manager, core, { initializerName: 'envoy.initializer.kubernetes.io', policy: 'auto' });
  const kept = async () =>
    (await manager.registry.getSingleMetric('envoy_initializer_policies')?.get())?.values;
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  const end = async () => {
    stop.abort(new Error('the test is over'));
    await clock.advanceAsync(0);
    await running;
  };
  return { end, requests, lists, kept, clock };
}

test('an API server that knows policies after an upgrade is asked for them', async () => {
  let discovery: object = { resources: [{ name: 'mutatingwebhookconfigurations' }] };
  const { end, requests, lists, kept, clock } = policiesOf(() => discovery);
  await clock.advanceAsync(0);
  expect(requests).toEqual(['GET /apis/admissionregistration.k8s.io/v1']);
  expect(await kept()).toEqual([{ value: 0, labels: {} }]);
  discovery = { resources: [{ name: 'mutatingadmissionpolicies' }] };
  await clock.advanceAsync(30_000);
  expect(requests).toHaveLength(2);
  expect(lists).toEqual(['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']);
  await end();
  expect(clock.pendingTimers).toBe(0);
});
