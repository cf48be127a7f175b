import { expect, test } from '@jest/globals';
import {
  createTemplateHandler,
  type TemplateHandlerOptions,
} from '../../../../src/injection/webhook/config-map-handlers.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';
import { trustingDryRun, withMisfit } from '../../../support/injection/demo.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';

const GOOD =
  'initContainers: [{name: a, image: "a:v1", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]';
const BAD = 'containers: [{name: a, imag: b}]\nvolume: []';

function setUp(
  dryRun: TemplateHandlerOptions['dryRun'] = trustingDryRun,
  forecast: TemplateHandlerOptions['forecast'] = () => undefined,
) {
  const logged = capturedLog();
  const handler = createTemplateHandler({
    namespace: 'ours',
    configMap: 'template',
    dryRun,
    forecast,
    log: logged.log,
  });
  const review = (config: string | undefined, request: Partial<AdmissionRequest> = {}) =>
    handler(
      podRequest({
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        namespace: 'ours',
        name: 'template',
        object: { metadata: { name: 'template' }, ...(config !== undefined && { data: { config } }) },
        ...request,
      }),
      new AbortController().signal,
    );
  return { review, logged };
}

test('createTemplateHandler says what the templates would do to running pods', async () => {
  const { review } = setUp(trustingDryRun, ({ templates }) => `rollout of ${[...templates.keys()].join()}`);
  expect(await review(GOOD)).toMatchObject({ allowed: true, warnings: ['rollout of config'] });
});

test.each(['CREATE', 'UPDATE'])(
  'createTemplateHandler rejects an invalid template at %s, with the place of each fault',
  async (operation) => {
    const { review, logged } = setUp();
    const faults = [
      'line 1, column 24: containers[0].imag: unknown field "imag": did you mean image?',
      'line 2, column 1: volume: unknown field "volume": did you mean volumes?',
    ];
    expect(await review(BAD, { operation })).toEqual({
      allowed: false,
      code: 422,
      reason: 'Invalid',
      message: `the template cannot be used: config:1:24: containers[0].imag: unknown field "imag": did you mean image? (and 1 more problem)`,
      details: {
        kind: 'ConfigMap',
        name: 'template',
        causes: faults.map((message) => ({ reason: 'FieldValueInvalid', field: 'data.config', message })),
      },
    });
    expect(logged.lines).toEqual([
      expect.objectContaining({
        level: 40,
        faults: faults.map((fault) => fault.replace(/^line (\d+), column (\d+)/, 'config:$1:$2')),
      }),
    ]);
  },
);

test('createTemplateHandler allows a valid template and warns of doubtful fields', async () => {
  const { review, logged } = setUp();
  expect(await review(GOOD)).toEqual({ allowed: true, warnings: [] });
  expect(await review(GOOD.replace('a:v1', 'envoyproxy/envoy:v1.20'))).toEqual({
    allowed: true,
    warnings: [expect.stringMatching(/^config:1:\d+: initContainers\[0\]\.image: /)],
  });
  expect(logged.lines).toEqual([]);
});

test('createTemplateHandler warns of pods that do not fit, and of what could not be proved', async () => {
  const { review } = setUp({
    review: async (set) => ({ set: withMisfit(set), faults: [], inconclusive: ['too late'] }),
  });
  expect(await review(GOOD)).toEqual({
    allowed: true,
    warnings: [
      'config: pods with spec.restartPolicy: Never get no sidecar: containers[0].x: no',
      'template dry run inconclusive: too late',
    ],
  });
});

test.each<[string, Partial<AdmissionRequest>]>([
  ['another name', { name: 'other' }],
  ['another namespace', { namespace: 'theirs' }],
  ['another kind', { kind: { group: '', version: 'v1', kind: 'Secret' } }],
  ['another group', { kind: { group: 'example.com', version: 'v1', kind: 'ConfigMap' } }],
  ['a deletion', { operation: 'DELETE', object: undefined }],
  ['a subresource', { subResource: 'status' }],
])('createTemplateHandler allows %s without a warning', async (_, request) => {
  expect(await setUp().review(BAD, request)).toEqual({ allowed: true });
});
