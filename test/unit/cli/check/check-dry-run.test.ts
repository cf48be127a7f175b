import { describe, expect, test } from '@jest/globals';
import { tryDryRun } from '../../../../src/cli/check/check-dry-run.ts';
import { NamespaceObjects } from '../../../../src/cli/namespace-objects.ts';
import { inject } from '../../../../src/injection/inject.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { decideInput, demoPod, templateSet } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';

/** What a dry run of the demo's pod says, if the API server answers so. */
async function reported(answer: () => unknown, set = templateSet(), promoted?: TemplateSet) {
  const client = { request: async () => answer() } as unknown as KubeClient;
  const state = { set };
  const input = decideInput(demoPod(), { state });
  const basis = {
    client,
    objects: new NamespaceObjects(client, 'envoy-initializer'),
    promoted,
    dryRun: { prove: () => Promise.reject(new Error('expected no proof')) },
    namespace: 'default',
    decideOptions: input.options,
    state,
    webhooks: undefined,
    policies: false,
    exists: false,
  };
  return await tryDryRun(demoPod(), inject(input), { namespaceLabels: {} }, basis);
}

/** The findings if the API server refuses the pod so. */
async function findingsOf(kind: string, ...fields: readonly string[]) {
  const causes = fields.map((field) => ({ reason: 'FieldValueInvalid', field, message: 'no' }));
  const { findings } = await reported(() => {
    throw apiErrorFrom(422, { message: 'refused', details: { kind, causes } });
  });
  return findings.map(({ message }) => message);
}

describe('a pod that is admitted with another template than that of the ConfigMap', () => {
  const [first, target] = ['old', 'new'].map((image) =>
    templateSet({ config: `containers: [{name: envoy, image: "${image}"}]` }),
  );
  const admitted = () =>
    injectChecked(decideInput(demoPod(), { state: { set: first ?? templateSet() } })).pod;

  test('has the promoted one while a rollout is under way', async () => {
    expect(await reported(admitted, target, first)).toEqual({
      text: 'accepted with the sidecar of the promoted template: envoy-initializer rollout shows the new one',
      findings: [],
    });
  });

  test('is a finding otherwise', async () => {
    expect(await reported(admitted, target)).toMatchObject({ findings: [{ reason: 'webhook-behind' }] });
    expect(await reported(admitted, first)).toEqual({ text: 'accepted with the sidecar', findings: [] });
  });
});

test('a sidecar whose status another webhook removes is no missing sidecar', async () => {
  const { metadata: _, ...admitted } = injectChecked(
    decideInput(demoPod(), { state: { set: templateSet() } }),
  ).pod;
  expect(await reported(() => admitted)).toMatchObject({ findings: [{ reason: 'no-status' }] });
  expect(await reported(() => demoPod())).toMatchObject({ findings: [{ reason: 'webhook-silent' }] });
});

describe('a refused dry run', () => {
  test('names what of the template the API server refuses', async () => {
    const fields = ['spec.containers[1].image', 'spec.volumes[0].configMap', 'spec.containers[0].image'];
    expect(await findingsOf('Pod', ...fields)).toEqual(['refused (of the template: envoy, envoy-conf)']);
  });

  test.each<[string, string, readonly string[]]>([
    ['for a field of the pod', 'Pod', ['spec.containers[0].image']],
    ['by a policy', 'pods', []],
  ])('%s blames no template', async (_, kind, fields) => {
    expect(await findingsOf(kind, ...fields)).toEqual(['refused']);
  });
});
