import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { checkRoute } from '../../../../../src/addons/routes/cli/check-route.ts';
import { checkRequest } from '../../../../../src/addons/routes/cli/check-routes.ts';
import { keysFor } from '../../../../../src/injection/keys.ts';
import type { KubeClient } from '../../../../../src/kube/client/client.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';
import { DEMO_TEMPLATE, decideInput, podWith, templateSet } from '../../../../support/injection/demo.ts';
import { injectChecked } from '../../../../support/injection/inject-checked.ts';
import { grpcRouteFor, routeFor, serviceAt } from '../../../../support/routing/routes.ts';

const set = templateSet({ config: readFileSync('deploy/transparent/template.yaml', 'utf8') });
const app = (name: string, runAsUser = 5) => ({ name, image: 'i', securityContext: { runAsUser } });

function check(spec: JsonObject, annotations: JsonObject = {}, templates = set) {
  const key = 'initializer.kubernetes.io/envoy';
  const given = podWith(spec, { annotations: { [key]: 'true', ...annotations } });
  const { pod } = injectChecked(decideInput(given, { state: { set: templates } }));
  return checkPod(pod);
}

function checkPod(pod: JsonObject) {
  const client = { get: async () => pod, list: async () => ({ items: [] }) } as unknown as KubeClient;
  const request = { to: new URL('http://web/'), method: 'GET', headers: [] };
  return checkRequest(client, 'default', 'a', request, keysFor());
}

test('a pod without a sidecar, or with one that captures nothing, follows no routes', async () => {
  const spec = { containers: [app('b')] };
  expect((await checkPod(podWith(spec))).findings).toMatchObject([{ reason: 'no-sidecar' }]);
  const { findings } = await check(spec, {}, templateSet({ config: DEMO_TEMPLATE }));
  expect(findings).toMatchObject([{ reason: 'no-capture' }]);
});

// As capture.sh reads the list.
test.each(['80', '22, 80', '22 80'])('excluded ports bypass it: %j', async (ports) => {
  const key = 'initializer.kubernetes.io/envoy-exclude-outbound-ports';
  const { findings } = await check({ containers: [app('b')] }, { [key]: ports });
  expect(findings).toEqual([expect.objectContaining({ reason: 'excluded-port' })]);
});

test('an HTTPRoute says which GRPCRoute comes before it, and a GRPCRoute is checked by its own name', async () => {
  const backendRefs = [{ name: 'web', port: 80 }];
  const items: Readonly<Record<string, readonly object[]>> = {
    httproutes: [routeFor('shop/r', 'shop/web', [{ backendRefs }])],
    services: [serviceAt('shop/web', '10.96.0.7')],
    grpcroutes: [grpcRouteFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'gone', port: 80 }] }])],
  };
  const client = {
    list: async ({ plural }: { readonly plural: string }) => ({ metadata: {}, items: items[plural] ?? [] }),
  } as unknown as KubeClient;
  const object = { namespace: 'shop', name: 'r' };
  expect((await checkRoute(client, 'HTTPRoute', object)).findings).toContainEqual({
    reason: 'Conflicted',
    message: 'parentRefs: GRPCRoute shop/r is for Service shop/web port 80, and comes before HTTPRoutes',
  });
  const report = await checkRoute(client, 'GRPCRoute', object);
  expect(report.object).toBe('grpcroute/r');
  expect(report.findings.map(({ reason }) => reason)).toEqual(['BackendNotFound']);
});
