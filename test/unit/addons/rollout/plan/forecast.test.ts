import { expect, test } from '@jest/globals';
import { type ForecastPod, forecast, outlookLine } from '../../../../../src/addons/rollout/forecast.ts';
import { appliedTemplate } from '../../../../../src/injection/status.ts';
import type { TemplateSet } from '../../../../../src/injection/template/template-set.ts';
import { setOf } from '../../../../support/rollout/rollout-world.ts';

const [OLD, NEW, RESHAPED] = [setOf('envoy:1'), setOf('envoy:2'), setOf('envoy:2', '[--new]')];
let count = 0;

function pod(set: TemplateSet, fields: Partial<ForecastPod> = {}): ForecastPod {
  count += 1;
  const templates = [...set.templates.values()].map(appliedTemplate);
  return {
    key: `shop/pod-${count}`,
    uid: `pod-${count}`,
    status: { templates, added: {}, overlaid: {}, moved: {}, requests: {} },
    owner: { uid: 'web', kind: 'ReplicaSet' },
    namespace: { namespaceLabels: {} },
    selects: undefined,
    isOptedOut: false,
    ...fields,
  };
}

const IN_PLACE = { mode: 'in-place', singleReplica: 'leave' } as const;
const ALL = { mode: 'in-place-or-replace', singleReplica: 'leave' } as const;

test('the forecast counts what a rollout would do', () => {
  const pods = [
    pod(OLD),
    pod(OLD),
    pod(NEW),
    pod(OLD, { owner: { uid: 'db', kind: 'StatefulSet' } }),
    pod(OLD, { owner: { uid: 'load', kind: 'Job' } }),
    pod(OLD, { owner: undefined }),
  ];
  expect(outlookLine(forecast(pods, NEW, IN_PLACE))).toBe(
    'rollout to 6 pods with a sidecar (metadata estimate): 2 in place, 3 left unchanged (single-replica 2, job 1), 1 current',
  );
});

test('the forecast of a rollout knows pods of another shape, and those whose status does not say which', () => {
  const { status } = pod(OLD);
  const older = pod(OLD, { status: { ...status, templates: [{ name: 'config', sha256: 'old' }] } });
  expect(forecast([pod(OLD), older, pod(RESHAPED)], RESHAPED, ALL)).toMatchObject({
    replaced: 2,
    current: 1,
  });
  expect(forecast([pod(OLD), older], NEW, ALL)).toMatchObject({ replaced: 1, inPlace: 1 });
  expect(forecast([pod(OLD), pod(OLD)], RESHAPED, IN_PLACE)).toMatchObject({ left: { 'not-in-place': 2 } });
});

test('the forecast of a rollout leaves alone pods that a label or annotation keeps out', () => {
  const out = { namespaceLabels: { 'initializer.kubernetes.io/rollout': 'false' } };
  expect(forecast([pod(OLD, { namespace: out }), pod(OLD, { isOptedOut: true })], NEW, ALL)).toMatchObject({
    left: { 'opted-out': 2 },
  });
});

test('the forecast of a rollout refuses pods that select a template that does not exist', () => {
  expect(forecast([pod(OLD, { selects: 'gone' }), pod(OLD)], NEW, ALL)).toMatchObject({
    refused: 1,
    inPlace: 1,
  });
});
