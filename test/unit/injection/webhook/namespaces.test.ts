import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { setUpNamespaces } from '../../../../src/injection/webhook/namespaces.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { testManager } from '../../../support/kube/test-manager.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

test('LimitRanges that cannot be read are waited for half a minute', async () => {
  const untilAbort = (signal: AbortSignal) => once(signal, 'abort').then(() => Promise.reject(signal.reason));
  const client = {
    list: async ({ plural }: Resource<KubeObject>, { signal }: { signal: AbortSignal }) =>
      plural === 'limitranges' ? await untilAbort(signal) : { items: [], resourceVersion: '1' },
    async *watch(_: unknown, { signal }: { signal: AbortSignal }) {
      yield* await once(signal, 'abort').then(() => []);
    },
  } as unknown as KubeClient;
  const [clock, stop] = [new FakeClock(), new AbortController()];
  const manager = testManager({ client, clock, log: capturedLog().log });
  const namespaces = setUpNamespaces(manager, 'envoy-initializer', keysFor(), () => undefined);
  const running = manager.run(stop.signal);
  let isKnown = false;
  void namespaces.untilUnseen(stop.signal).then(() => {
    isKnown = true;
  });
  await clock.advanceAsync(29_999);
  expect(isKnown).toBe(false);
  await clock.advanceAsync(1);
  expect(isKnown).toBe(true);
  stop.abort(new Error('the test is over'));
  await clock.advanceAsync(0);
  await running;
});
