import { describe, expect, test } from '@jest/globals';
import { createEnvoyHandler } from '../../../../src/injection/webhook/config-map-handlers.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';

const review = (data: JsonObject, request: Partial<AdmissionRequest> = {}) =>
  createEnvoyHandler()(
    podRequest({
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      namespace: 'web',
      name: 'envoy',
      object: { metadata: { name: 'envoy' }, data },
      ...request,
    }),
    () => new AbortController().signal,
  );

describe('createEnvoyHandler', () => {
  test('warns of each fault of a bootstrap and allows it', async () => {
    const bootstrap = '{"static_resources": {"clusters": [{"hosts": [], "tls_context": {}}]}}';
    expect(await review({ 'envoy.json': bootstrap, 'notes.txt': '{' })).toEqual({
      allowed: true,
      warnings: [
        expect.stringContaining(
          'clusters[0].hosts: belongs to the v2 API, which Envoy removed in 1.18: write load_assignment',
        ),
        expect.stringContaining('clusters[0].tls_context: belongs to the v2 API'),
      ],
    });
  });

  const weights = (data: JsonObject) => {
    const labels = { 'initializer.kubernetes.io/envoy-weights': 'true' };
    return review(data, { name: 'app-weights', object: { metadata: { name: 'app-weights', labels }, data } });
  };

  test('refuses invalid weights and weights that are all 0', async () => {
    expect(await weights({ 'canary.app_v1': '0', 'canary.app_v2': 'all' })).toEqual({
      allowed: false,
      code: 422,
      reason: 'Invalid',
      message: 'the weights cannot be used: canary.app_v2: must be a whole number such as "10", not "all"',
      details: {
        kind: 'ConfigMap',
        name: 'app-weights',
        causes: [
          {
            reason: 'FieldValueInvalid',
            field: 'data.canary.app_v2',
            message: 'must be a whole number such as "10", not "all"',
          },
        ],
      },
    });
    expect(await weights({ 'canary.app_v1': '0', 'canary.app_v2': '0' })).toMatchObject({
      allowed: false,
      message: expect.stringContaining('all weights of canary are 0'),
    });
    expect(await weights({ 'envoy.json': '{}' })).toMatchObject({ allowed: false });
    expect(await weights({ 'canary.app_v1': '90', 'canary.app_v2': '10' })).toEqual({ allowed: true });
  });

  test.each<[string, JsonObject]>([
    ['a good bootstrap', { 'envoy.json': '{"static_resources": {}}' }],
    ['no data', {}],
  ])('allows %s without a warning', async (_, data) => {
    expect(await review(data)).toEqual({ allowed: true, warnings: [] });
  });

  test.each<[string, Partial<AdmissionRequest>]>([
    ['another kind', { kind: { group: '', version: 'v1', kind: 'Secret' } }],
    ['a deletion', { operation: 'DELETE', object: undefined }],
  ])('allows %s without a warning', async (_, request) => {
    expect(await review({ 'envoy.json': '[]' }, request)).toEqual({ allowed: true });
  });
});
