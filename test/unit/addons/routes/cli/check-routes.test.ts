import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { checkRoute } from '../../../../../src/addons/routes/cli/check-route.ts';
import { checkRequest } from '../../../../../src/addons/routes/cli/check-routes.ts';
import { keysFor } from '../../../../../src/injection/keys.ts';
import type { KubeClient } from '../../../../../src/kube/client/client.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';
import { decideInput, podWith, templateSet } from '../../../../support/injection/demo.ts';
import { injectChecked } from '../../../../support/injection/inject-checked.ts';
import { routeFor, serviceAt } from '../../../../support/routing/routes.ts';

const set = templateSet({ config: readFileSync('deploy/transparent/template.yaml', 'utf8') });
const app = (name: string, runAsUser = 5) => ({ name, image: 'i', securityContext: { runAsUser } });

function check(spec: JsonObject, annotations: JsonObject = {}) {
  const key = 'initializer.kubernetes.io/envoy';
  const given = podWith(spec, { annotations: { [key]: 'true', ...annotations } });
  const { pod } = injectChecked(decideInput(given, { state: { set } }));
  const client = { get: async () => pod, list: async () => ({ items: [] }) } as unknown as KubeClient;
  const request = { to: new URL('http://web/'), method: 'GET', headers: [] };
  return checkRequest(client, 'default', 'a', request, keysFor());
}

const STRAIGHT = 'no HTTPRoute applies: the request goes straight to its destination';
const finding = {
  reason: 'proxy-user',
  message:
    "the requests of container a bypass the sidecar, because it runs as user 1337, Envoy's own: use another runAsUser",
};

test('a pod that runs as Envoy bypasses it', async () => {
  expect(
    await check({ securityContext: { runAsUser: 1337 }, containers: [{ name: 'a', image: 'i' }] }),
  ).toMatchObject({
    because: [STRAIGHT],
    findings: [finding],
  });
});

test('a container of a pod that runs as Envoy bypasses it, and not the others', async () => {
  const { because, findings } = await check({ containers: [app('a', 1337), app('b')] });
  expect(because).toEqual(['no Service has the name or address web: it goes there as without routes']);
  expect(findings).toContainEqual(finding);
});

test('init containers that end before Envoy starts bypass it', async () => {
  const { because, findings } = await check({
    initContainers: [app('i'), { ...app('n'), restartPolicy: 'Always' }],
    containers: [app('b')],
  });
  expect(because).toContain('those of init container i go straight: it ends before Envoy starts');
  expect(because).toHaveLength(2);
  expect(findings).not.toContainEqual(expect.objectContaining({ reason: 'proxy-user' }));
});

// As capture.sh reads the list.
test.each(['80', '22, 80', '22 80'])('excluded ports bypass it: %j', async (ports) => {
  const key = 'initializer.kubernetes.io/envoy-exclude-outbound-ports';
  const { findings } = await check({ containers: [app('b')] }, { [key]: ports });
  expect(findings).toEqual([expect.objectContaining({ reason: 'excluded-port' })]);
});

test('a GRPCRoute of the same Service is a finding', async () => {
  const rpc = {
    metadata: { namespace: 'shop', name: 'rpc' },
    spec: { parentRefs: [{ kind: 'Service', name: 'web' }] },
  };
  const items: Readonly<Record<string, readonly object[]>> = {
    httproutes: [routeFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'web', port: 80 }] }])],
    services: [serviceAt('shop/web', '10.96.0.7')],
    grpcroutes: [rpc],
  };
  const list = async ({ plural }: { readonly plural: string }) => ({
    metadata: {},
    items: items[plural] ?? [],
  });
  const { findings } = await checkRoute({ list } as unknown as KubeClient, 'shop', 'r');
  expect(findings).toContainEqual({
    reason: 'grpc-route',
    message: expect.stringContaining('GRPCRoute shop/rpc is for Service shop/web'),
  });
});
