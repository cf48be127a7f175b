import { describe, expect, test } from '@jest/globals';
import { type ForecastPod, forecast, outlookLine } from '../../../../../src/addons/rollout/core/forecast.ts';
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
    workload: 'shop/ReplicaSet/web',
    owner: { uid: 'web', kind: 'ReplicaSet' },
    namespace: { namespaceLabels: {} },
    selects: undefined,
    isOptedOut: false,
    ...fields,
  };
}

const IN_PLACE = { mode: 'in-place', singleReplica: 'leave' } as const;
const ALL = { mode: 'in-place-or-replace', singleReplica: 'leave' } as const;
const totalOf = (...given: Parameters<typeof forecast>) => forecast(...given).total;

describe('the forecast', () => {
  test('counts by workload what a rollout would do', () => {
    const pods = [
      pod(OLD),
      pod(OLD),
      pod(NEW),
      pod(OLD, { workload: 'shop/StatefulSet/db', owner: { uid: 'db', kind: 'StatefulSet' } }),
      pod(OLD, { workload: 'shop/Job/load', owner: { uid: 'load', kind: 'Job' } }),
      pod(OLD, { workload: 'shop/Pod/bare', owner: undefined }),
    ];
    const { total, workloads } = forecast(pods, NEW, IN_PLACE);
    expect(outlookLine(total)).toBe(
      '6 pods with a sidecar: 2 in place, 3 left alone (single-replica 2, job 1), 1 current',
    );
    expect(workloads.map(({ workload, pods: all, inPlace, left }) => [workload, all, inPlace, left])).toEqual(
      [
        ['shop/Job/load', 1, 0, { job: 1 }],
        ['shop/Pod/bare', 1, 0, { 'single-replica': 1 }],
        ['shop/ReplicaSet/web', 3, 2, {}],
        ['shop/StatefulSet/db', 1, 0, { 'single-replica': 1 }],
      ],
    );
  });

  test('knows pods of another shape, and those whose status does not say which', () => {
    const { status } = pod(OLD);
    const older = pod(OLD, { status: { ...status, templates: [{ name: 'config', sha256: 'old' }] } });
    expect(totalOf([pod(OLD), older, pod(RESHAPED)], RESHAPED, ALL)).toMatchObject({
      replaced: 2,
      current: 1,
    });
    expect(totalOf([pod(OLD), older], NEW, ALL)).toMatchObject({ replaced: 1, inPlace: 1 });
    expect(totalOf([pod(OLD), pod(OLD)], RESHAPED, IN_PLACE)).toMatchObject({ left: { 'not-in-place': 2 } });
  });

  test('leaves alone whom a label or annotation keeps out', () => {
    const out = { namespaceLabels: { 'initializer.kubernetes.io/rollout': 'false' } };
    expect(totalOf([pod(OLD, { namespace: out }), pod(OLD, { isOptedOut: true })], NEW, ALL)).toMatchObject({
      left: { 'opted-out': 2 },
    });
  });

  test('says in words what only the whole pod shows', () => {
    const replace = { how: 'replace', why: 'labels differ: team' } as const;
    const refused = { how: 'refused', why: 'a new pod would get no sidecar: conflict' } as const;
    const { total, workloads } = forecast(
      [pod(OLD, { verdict: replace }), pod(OLD, { verdict: refused })],
      NEW,
      ALL,
    );
    expect(total).toMatchObject({ replaced: 1, refused: 1 });
    expect(workloads[0]?.why).toEqual([replace.why, refused.why]);
  });

  test('refuses pods that select a template that does not exist', () => {
    expect(totalOf([pod(OLD, { selects: 'gone' }), pod(OLD)], NEW, ALL)).toMatchObject({
      refused: 1,
      inPlace: 1,
    });
  });
});
