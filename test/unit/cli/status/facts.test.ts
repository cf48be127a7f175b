import { expect, test } from '@jest/globals';
import { readStatus } from '../../../../src/cli/status/facts.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';

const config = 'containers: [{name: envoy, image: envoy}]';

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
    list: async () => ({ items: [] }),
    async *pages() {},
  } as unknown as KubeClient;
  const options = { operatorNamespace: 'op', configmap: 'envoy', annotation: 'a/b', requireAnnotation: true };
  expect((await readStatus(client, options as never, [])).pods).toMatchObject(pods);
});
