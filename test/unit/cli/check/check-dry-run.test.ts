import { describe, expect, test } from '@jest/globals';
import { tryDryRun } from '../../../../src/cli/check/check-dry-run.ts';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { inject } from '../../../../src/sidecar/inject.ts';
import { decideInput, demoPod, templateSet } from '../../../support/demo.ts';

/** The findings of a dry run of the demo's pod that the API server refuses so. */
async function findingsOf(kind: string, ...fields: readonly string[]) {
  const causes = fields.map((field) => ({ reason: 'FieldValueInvalid', field, message: 'no' }));
  const client = {
    async request() {
      throw apiErrorFrom(422, { message: 'refused', details: { kind, causes } });
    },
  } as unknown as KubeClient;
  const input = decideInput(demoPod(), { state: { set: templateSet() } });
  const basis = {
    client,
    prover: { prove: () => Promise.reject(new Error('expected no proof')) },
    namespace: 'default',
    decide: input.options,
    state: { set: templateSet() },
    webhooks: undefined,
    policies: false,
    exists: false,
  };
  const { findings } = await tryDryRun(demoPod(), inject(input), { namespaceLabels: {} }, basis);
  return findings.map(({ message }) => message);
}

describe('a refused dry run', () => {
  test('names the fields of the template that the API server refuses', async () => {
    const fields = ['spec.containers[1].image', 'spec.volumes[0].configMap', 'spec.containers[0].image'];
    expect(await findingsOf('Pod', ...fields)).toEqual([
      'refused (in the template: config: containers[0].image, config: volumes[0].configMap)',
    ]);
  });

  test.each<[string, string, readonly string[]]>([
    ['for a field of the pod', 'Pod', ['spec.containers[0].image']],
    ['by a policy', 'pods', []],
  ])('%s blames no template', async (_, kind, fields) => {
    expect(await findingsOf(kind, ...fields)).toEqual(['refused']);
  });
});
