import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import type { ServeOptions } from '../../../src/cli/serve-options.ts';
import { LiveTemplates } from '../../../src/injector/live-templates.ts';
import { apiErrorFrom } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { controllerMaker } from '../../../src/kube/controller/leader-controller.ts';
import { policyDuty } from '../../../src/policies/setup.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A policy duty with an API server that gives this discovery answer, and whose watches stay silent. */
function dutyOf(discovery: () => unknown) {
  const { log, lines } = capturedLog();
  const clock = new FakeClock();
  const requests: string[] = [];
  const lists: string[] = [];
  const client = {
    async request(method: string, path: string) {
      requests.push(`${method} ${path}`);
      return discovery();
    },
    async *watch({ plural }: Resource<KubeObject>, { signal }: { signal: AbortSignal }) {
      lists.push(plural);
      await once(signal, 'abort');
      yield* [];
    },
  } as unknown as KubeClient;
  const kept: number[] = [];
  const duty = policyDuty({
    options: {
      annotation: 'initializer.kubernetes.io/envoy',
      initializerName: 'envoy.initializer.kubernetes.io',
      namespace: 'envoy-initializer',
      requireAnnotation: true,
      policy: 'auto',
    } as ServeOptions,
    client,
    leaderClient: client,
    template: { templates: new LiveTemplates({ adopted() {}, rejected() {} }), onAdopted() {} },
    makeController: controllerMaker({ registry: new Registry(), clock, log }),
    clock,
    log,
    metrics: { kept: (count) => kept.push(count) },
  });
  return { duty, lines, requests, lists, kept, clock };
}

const KNOWS_NONE = { resources: [{ name: 'mutatingwebhookconfigurations' }] };
const NONE_KNOWN =
  'the API server does not serve MutatingAdmissionPolicy (Kubernetes 1.36 does): only the webhook injects';

test('policyDuty logs once that the API server serves no policies, and checks again every ten minutes', async () => {
  const { duty, lines, requests, kept, clock } = dutyOf(() => KNOWS_NONE);
  const stop = new AbortController();
  const running = [duty.watch(stop.signal), duty.lead(stop.signal)];
  await clock.advanceAsync(0);
  await clock.advanceAsync(599_999);
  expect(requests).toEqual(['GET /apis/admissionregistration.k8s.io/v1']);
  for (let asked = 2; asked < 5; asked++) {
    // Jitter adds at most a fifth.
    await clock.advanceAsync(120_001);
    expect(requests).toHaveLength(asked);
    await clock.advanceAsync(599_999);
  }
  stop.abort(new Error('the test is over'));
  await Promise.all(running);
  expect(lines.map(({ msg }) => msg)).toEqual([NONE_KNOWN]);
  expect(kept).toEqual([0]);
  expect(clock.pendingTimers).toBe(0);
});

test('policyDuty watches policies once an upgraded API server serves them', async () => {
  let discovery: object = KNOWS_NONE;
  const { duty, lines, requests, lists, clock } = dutyOf(() => discovery);
  const stop = new AbortController();
  const watching = duty.watch(stop.signal);
  await clock.advanceAsync(0);
  discovery = { resources: [{ name: 'mutatingadmissionpolicies' }] };
  await clock.advanceAsync(720_000);
  expect(requests).toHaveLength(2);
  expect(lists).toEqual(['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']);
  stop.abort(new Error('the test is over'));
  await watching;
  expect(lines.map(({ msg }) => msg)).toEqual([
    NONE_KNOWN,
    'the API server now serves MutatingAdmissionPolicy',
  ]);
});

test('policyDuty treats an API server without the group as one that serves no policies', async () => {
  const { duty, lines, clock } = dutyOf(() => {
    throw apiErrorFrom(404, {});
  });
  const stop = new AbortController();
  const watching = duty.watch(stop.signal);
  await clock.advanceAsync(0);
  expect(lines.map(({ msg }) => msg)).toEqual([NONE_KNOWN]);
  stop.abort(new Error('the test is over'));
  await watching;
});

test('policyDuty honors Retry-After of the API server', async () => {
  const { duty, requests, clock } = dutyOf(() => {
    throw apiErrorFrom(429, {}, '60');
  });
  const stop = new AbortController();
  const watching = duty.watch(stop.signal);
  await clock.advanceAsync(0);
  await clock.advanceAsync(59_999);
  expect(requests).toHaveLength(1);
  await clock.advanceAsync(1);
  expect(requests).toHaveLength(2);
  stop.abort(new Error('the test is over'));
  await watching;
});
