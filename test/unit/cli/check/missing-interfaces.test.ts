import { expect, test } from '@jest/globals';
import { missingInterfaces } from '../../../../src/cli/check/check-pods.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { newNetwork } from '../../networks/networks.ts';

const status = { status: 404, reason: 'NotFound', message: '', retryAfterMs: undefined, causes: [] };
const client = {
  get: async (_: unknown, { name }: { readonly name: string }) => {
    if (name !== 'blue') throw new ApiError(status);
    return newNetwork();
  },
} as unknown as KubeClient;

const running = (annotations: Readonly<Record<string, string>>): JsonObject => ({
  metadata: { name: 'p', namespace: 'red', annotations },
  spec: { nodeName: 'n1' },
  status: { phase: 'Running', podIP: '10.244.0.9' },
});

test('a pod that runs without its interface on a Network is a finding', async () => {
  const pod = running({ 'k8s.v1.cni.cncf.io/networks': 'blue, some-nad' });
  expect(await missingInterfaces(client, [pod])).toEqual([
    {
      reason: 'interface-missing',
      message: expect.stringMatching(/^pod p runs without its interface on Network red\/blue, /),
    },
  ]);
});

test('a pod that has it is none', async () => {
  const attached = JSON.stringify([{ name: 'red/blue', interface: 'net1' }]);
  const pod = running({ 'samplecrd.k8s.io/network': 'blue', 'k8s.v1.cni.cncf.io/network-status': attached });
  expect(await missingInterfaces(client, [pod])).toEqual([]);
});
