import { describe, expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { TemplateState } from '../../../../src/injection/template/template-set.ts';
import { createWorkloadHandler } from '../../../../src/injection/webhook/workload-handler.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';
import { OPT_IN, templateSet } from '../../../support/injection/demo.ts';

const CLASH = { volumes: [{ name: 'envoy-conf', emptyDir: {} }] };
const ON = { [OPT_IN]: 'true' };

function review(
  {
    labels = {},
    namespaceLabels = {},
    spec = {},
    state = { set: templateSet() },
    kind = 'Deployment',
  }: {
    readonly labels?: Record<string, string>;
    readonly namespaceLabels?: Record<string, string>;
    readonly spec?: JsonObject;
    readonly state?: TemplateState;
    readonly kind?: 'Deployment' | 'CronJob';
  },
  request: Partial<AdmissionRequest> = {},
) {
  const handler = createWorkloadHandler({
    decide: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' },
    templates: () => state,
    namespaceSettings: async () => ({ namespaceLabels }),
  });
  const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'a' }], ...spec } };
  const [group, object]: [string, JsonObject] =
    kind === 'Deployment'
      ? ['apps', { apiVersion: 'apps/v1', kind, metadata: { name: 'web' }, spec: { template } }]
      : [
          'batch',
          {
            apiVersion: 'batch/v1',
            kind,
            metadata: { name: 'web' },
            spec: { jobTemplate: { spec: { template } } },
          },
        ];
  const change = { kind: { group, version: 'v1', kind }, object, ...request };
  return handler(podRequest(change), () => new AbortController().signal);
}

describe('createWorkloadHandler', () => {
  test.each(['Deployment', 'CronJob'] as const)(
    'warns the author of a %s of a conflict of its pods, and allows it',
    async (kind) => {
      expect(await review({ labels: ON, spec: CLASH, kind })).toEqual({
        allowed: true,
        warnings: [
          'pods of this workload: no sidecar: conflict: spec.volumes[name=envoy-conf]: the template has another volume of this name: rename one of them',
        ],
      });
    },
  );

  test('is silent about pods that get their sidecar, or need none', async () => {
    for (const labels of [ON, {}]) {
      expect(await review({ labels })).toEqual({ allowed: true, warnings: [] });
    }
  });
});

test.each([
  ['config', []],
  [
    'confg',
    [
      `pods of this namespace get no sidecar: unknown-template: the namespace's annotation ${OPT_IN}-templates names template "confg", which does not exist: use another, or add it to the ConfigMap`,
    ],
  ],
])('warns the author of a Namespace that selects the template %s', async (selected, warnings) => {
  const object = { metadata: { name: 'new', annotations: { [`${OPT_IN}-templates`]: selected } } };
  const kind = { group: '', version: 'v1', kind: 'Namespace' };
  expect(await review({}, { kind, object })).toEqual({ allowed: true, warnings });
});
