import { expect, test } from '@jest/globals';
import { readStatus } from '../../../../src/cli/status/facts.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';

const config = 'containers: [{name: envoy, image: envoy}]';

/** A Network from before the CustomResourceDefinition had a schema. */
const OLD = { metadata: { namespace: 'a', name: 'b' }, spec: { cidr: '10.1.0.0/24' } };

test.each([
  ['may not be read', 403, { value: { count: 0, drifted: [] } }],
  ['cannot be read', 500, { unreadable: 'no answer from etcd' }],
])('where the flags of the operator %s (%i), the drift of pods is %j', async (_, status, pods) => {
  const client = {
    request: async () => ({ gitVersion: 'v1.36.3' }),
    get: async ({ kind }: { readonly kind: string }) => {
      if (kind === 'ConfigMap') return { metadata: {}, data: { config } };
      throw new ApiError({ status, reason: '', message: 'no answer from etcd' });
    },
    list: async ({ kind }: { readonly kind: string }) => ({ items: kind === 'Network' ? [OLD] : [] }),
    async *pages() {},
  } as unknown as KubeClient;
  const options = { operatorNamespace: 'op', configmap: 'envoy', annotation: 'a/b', requireAnnotation: true };
  const facts = await readStatus(client, options as never, []);
  expect(facts.pods).toMatchObject(pods);
  expect(facts.networks).toMatchObject({ value: [{ reason: 'Network.spec.gateway: expected a string' }] });
});
