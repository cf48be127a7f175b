import { expect, test } from '@jest/globals';
import { tools } from '../../../../src/addons/rollout/cli/tools.ts';
import { newRevision } from '../../../../src/addons/rollout/controller-revision.ts';
import { surveyBasis } from '../../../../src/cli/survey.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { setOf } from '../../../support/rollout/rollout-world.ts';

const dataOf = (image: string) => ({ config: `containers: [{name: envoy, image: "${image}", args: []}]` });
const metadata = { namespace: 'op', name: 'envoy' };

function revisionOf(image: string, state: 'canary' | 'promoted' | 'halted') {
  const canary = { percent: 0, namespaces: { env: 'staging' } };
  const details = { state, since: 0, canary, heldSince: undefined };
  return newRevision({ metadata, data: dataOf(image) }, setOf(image).hash, 1, details);
}

test.each([
  ['halted', 'staging', 'envoy:1'],
  ['canary', 'staging', 'envoy:2'],
  ['canary', 'production', 'envoy:1'],
] as const)('pods are compared, while the rollout is %s, in %s with %s', async (state, env, image) => {
  const client = {
    get: async () => ({ metadata, data: { ...dataOf('envoy:2'), rollout: 'mode: in-place' } }),
    list: async () => ({ items: [revisionOf('envoy:1', 'promoted'), revisionOf('envoy:2', state)] }),
  };
  const options = { operatorNamespace: 'op', configmap: 'envoy', annotation: 'a/b', requireAnnotation: true };
  const basis = await surveyBasis(client as unknown as KubeClient, options as never, [tools], undefined);
  const templates = basis.templates({ metadata: { name: 'a' } }, { namespaceLabels: { env } });
  expect(templates).toMatchObject({ set: { hash: setOf(image).hash } });
});
