import { expect, test } from '@jest/globals';
import { pendingNetworks } from '../../../../src/cli/check/pending-networks.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { newNetwork } from '../../networks/networks.ts';

const notFound = new ApiError({
  status: 404,
  reason: 'NotFound',
  message: '',
  retryAfterMs: undefined,
  causes: [],
});
const client = {
  list: async () => ({ items: [] }),
  get: async (_: unknown, { name }: { readonly name: string }) => {
    if (name !== 'blue') throw notFound;
    return newNetwork({ status: { observedGeneration: 1, conditions: [] } });
  },
} as unknown as KubeClient;

const running = (annotations: Readonly<Record<string, string>>): JsonObject => ({
  metadata: { name: 'p', namespace: 'red', annotations },
  spec: { nodeName: 'n1' },
  status: { phase: 'Running', podIP: '10.244.0.9' },
});

test('a pod that runs without its interface on a Network is a finding', async () => {
  const pod = running({ 'k8s.v1.cni.cncf.io/networks': 'blue, some-nad' });
  const [finding] = await pendingNetworks(client, [pod], 'red');
  expect(finding).toEqual({
    reason: 'interface-missing',
    message:
      'pod p runs without its interface on Network red/blue, because Multus did not attach it: recreate it when Multus is on its node',
  });
});

test('a pod that has it is none', async () => {
  const status = JSON.stringify([{ name: 'red/blue', interface: 'net1' }]);
  const pod = running({ 'samplecrd.k8s.io/network': 'blue', 'k8s.v1.cni.cncf.io/network-status': status });
  expect(await pendingNetworks(client, [pod], 'red')).toEqual([]);
});
