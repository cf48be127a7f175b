import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { controllerMaker } from '../../../src/commands/led-controller.ts';
import { policyDuty } from '../../../src/commands/policy-duty.ts';
import type { ServeOptions } from '../../../src/config.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { LiveTemplates } from '../../../src/webhook/live-templates.ts';
import { systemClock } from '../../../src/workqueue/clock.ts';
import { capturedLog } from '../../support/captured-log.ts';

/** A duty whose API server answers its question about policies so, and no other. */
function dutyOf(discovery: unknown) {
  const { log, lines } = capturedLog();
  const requests: string[] = [];
  const client = {
    async request(method: string, path: string) {
      requests.push(`${method} ${path}`);
      return discovery;
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
    makeController: controllerMaker({ registry: new Registry(), clock: systemClock, log }),
    clock: systemClock,
    log,
    metrics: { kept: (count) => kept.push(count) },
  });
  return { duty, lines, requests, kept };
}

test('an API server that knows no policies is said so once, and asked nothing more', async () => {
  const { duty, lines, requests, kept } = dutyOf({ resources: [{ name: 'mutatingwebhookconfigurations' }] });
  const stop = new AbortController();
  const leading = duty.lead(stop.signal);
  await duty.watch(stop.signal);
  stop.abort(new Error('the test is over'));
  await leading;
  expect(requests).toEqual(['GET /apis/admissionregistration.k8s.io/v1']);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'this API server knows no MutatingAdmissionPolicy (Kubernetes 1.36 does): the webhook does it all',
  ]);
  expect(kept).toEqual([0]);
});
