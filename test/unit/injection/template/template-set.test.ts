import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import {
  isCanary,
  parseStrategy,
  percentFor,
  uidBound,
} from '../../../../src/injection/template/strategy.ts';
import { changedTemplates, parseTemplateConfigMap } from '../../../../src/injection/template/template-set.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { DEMO_TEMPLATE, templateSet, withMisfit } from '../../../support/injection/demo.ts';

function faults(data: Readonly<Record<string, string>>): readonly string[] {
  const parsed = parseTemplateConfigMap(data);
  return 'faults' in parsed ? parsed.faults.map(formatInText) : [];
}

test('the data of a ConfigMap has templates by name, and options with defaults', () => {
  const set = templateSet({
    config: DEMO_TEMPLATE,
    'config.logs': 'containers: [{name: logs, image: l}]',
    options: 'position: first\nonConflict:',
    'README.md': 'none: [of our business',
  });
  expect([...set.templates.keys()]).toEqual(['config', 'logs']);
  expect(set.templates.get('logs')?.name).toBe('logs');
  expect(set.options).toEqual({ onConflict: 'skip', nativeSidecar: 'jobs', position: 'first' });
});

test.each<[string, Record<string, string>, string[]]>([
  ['no default template', { 'config.a': DEMO_TEMPLATE }, ['config: required, but the key is missing']],
  [
    'an invalid name',
    { config: DEMO_TEMPLATE, 'config.A B': DEMO_TEMPLATE },
    ['config.A B: the name after "config." must be at most 63 lower-case letters, digits and hyphens'],
  ],
  [
    'a second default template',
    { config: DEMO_TEMPLATE, 'config.config': DEMO_TEMPLATE },
    ['config.config: config is the name of the default template: use another name'],
  ],
  [
    'faults in several keys',
    {
      config: 'containers: [',
      'config.a': 'container: []',
      options: 'onConflict: maybe\nposition: last\nnative: x',
    },
    [
      'config:1:14: invalid YAML: unexpected end of the stream within a flow collection',
      'config.a:1:1: container: unknown field "container": did you mean containers?',
      'options:1:1: onConflict: must be one of skip, deny',
      'options:3:1: native: unknown field "native": expected one of onConflict, nativeSidecar, position',
    ],
  ],
  [
    'options that are not YAML',
    { config: DEMO_TEMPLATE, options: '"' },
    ['options:1:2: invalid YAML: unexpected end of the stream within a double quoted scalar'],
  ],
])('the data of a ConfigMap with %s is refused', (_, data, want) => {
  expect(faults(data)).toEqual(want);
});

function faultsOf(text: string): readonly string[] {
  const parsed = parseStrategy('rollout', text);
  return 'faults' in parsed ? parsed.faults.map(formatInText) : [];
}

test('the strategy of a rollout has defaults that leave running pods alone', () => {
  expect(parseStrategy('rollout', '{}')).toEqual({
    strategy: {
      mode: 'new-pods',
      maxUnavailable: { count: 1 },
      perMinute: 60,
      singleReplica: 'leave',
      canary: undefined,
      breaker: { failures: 2, of: 10, withinMs: 60_000, onHalt: 'stop' },
      paused: false,
    },
  });
});

test('the strategy of a rollout is read as it is written', () => {
  const text = `
mode: in-place-or-replace
maxUnavailable: 25%
perMinute: 1000
singleReplica: change
canary: {namespaces: {env: staging}, percent: 10, hold: 1m30s}
breaker: {failures: 3, of: 20, within: 2m, then: back}
paused: true
`;
  expect(parseStrategy('rollout', text)).toEqual({
    strategy: {
      mode: 'in-place-or-replace',
      maxUnavailable: { percent: 25 },
      perMinute: 1000,
      singleReplica: 'change',
      canary: { namespaces: { env: 'staging' }, percent: 10, holdMs: 90_000 },
      breaker: { failures: 3, of: 20, withinMs: 120_000, onHalt: 'back' },
      paused: true,
    },
  });
});

test('the strategy of a rollout with only one failure needs one for its breaker', () => {
  expect(parseStrategy('rollout', 'breaker: {of: 1}')).toMatchObject({
    strategy: { breaker: { failures: 1, of: 1 } },
  });
});

test.each(
  load(String.raw`
- ['mode: inplace', 'rollout:1:1: mode: must be one of new-pods, in-place, in-place-or-replace: did you mean in-place?']
- ['mod: in-place', 'rollout:1:1: mod: unknown field "mod": did you mean mode?']
- ['maxUnavailable: 0', 'rollout:1:1: maxUnavailable: must be at least 1 pod, or a percentage from "1%" to "100%", not 0']
- ['maxUnavailable: 0%', 'rollout:1:1: maxUnavailable: must be at least 1 pod, or a percentage from "1%" to "100%", not "0%"']
- ["mode: in-place\nperMinute: 0", 'rollout:2:1: perMinute: must be from 1 to 100000, not 0']
- ['paused: yes', 'rollout:1:1: paused: must be true or false, not "yes"']
- ['canary: {hold: 5m}', 'rollout:1:1: canary: selects no pods: add namespaces (labels), percent (of the workloads), or both']
- ['canary: {namespaces: {}}', 'rollout:1:10: canary.namespaces: selects all namespaces: add a label such as env: staging']
- ['canary: {percent: 10, hold: 5}', 'rollout:1:23: canary.hold: must be a duration such as 30s, 10m or 1h30m, not 5']
- ['breaker: {within: 30}', 'rollout:1:11: breaker.within: must be a duration such as 30s, 10m or 1h30m, not 30']
- ['canary: {percent: 10, hold: 5 minutes}', 'rollout:1:23: canary.hold: must be a duration such as 30s, 10m or 1h30m, not "5 minutes"']
- ['breaker: {failures: 5, of: 3}', 'rollout:1:11: breaker.failures: must be at most breaker.of, which is 3: the breaker counts only that many pods']
- ['breaker: {within: 0s}', 'rollout:1:11: breaker.within: must be at least 5s: no sidecar becomes Ready sooner']
- ['breaker: {then: forward}', 'rollout:1:11: breaker.then: must be one of back, stop']
- ['', 'rollout: is empty']`) as [string, string][],
)('the strategy %j of a rollout is refused with its place', (text, fault) => {
  expect(faultsOf(text)).toEqual([expect.stringContaining(fault)]);
});

test('a template set with a strategy has the hash of the templates alone', () => {
  const [alone, both] = [{}, { rollout: 'mode: in-place' }].map((more) =>
    parseTemplateConfigMap({ config: DEMO_TEMPLATE, ...more }),
  );
  if (!alone || !both || 'faults' in alone || 'faults' in both) throw new Error('expected valid sets');
  expect(alone.set.rollout).toBeUndefined();
  expect(both.set.rollout?.mode).toBe('in-place');
  expect(both.set.hash).toBe(alone.set.hash);
  expect(both.set.templates.get('config')?.hash).toBe(alone.set.templates.get('config')?.hash);
});

test('a template set with a strategy is refused as a whole where one of them is invalid', () => {
  const parsed = parseTemplateConfigMap({ config: DEMO_TEMPLATE, rollout: 'mode: all' });
  expect(parsed).toEqual({ faults: [expect.objectContaining({ source: 'rollout', path: 'mode' })] });
});

test('a template set with a misspelt key of its strategy names the right key', () => {
  const parsed = parseTemplateConfigMap({ config: DEMO_TEMPLATE, rolout: 'mode: in-place' });
  expect(parsed).toMatchObject({
    advice: expect.arrayContaining([
      expect.objectContaining({ source: 'rolout', message: 'unknown key: did you mean rollout?' }),
    ]),
  });
});

const uids = Array.from({ length: 2_000 }, () => randomUUID() as string);

test.each([
  [0, ''],
  [1, '028f5c29'],
  [25, '40000000'],
  [50, '80000000'],
  [100, 'g'],
])('a share of all workloads of %i %% ends at %j', (percent, bound) => {
  expect(uidBound(percent)).toBe(bound);
});

test('a share of all workloads has about its part of them, and all of a smaller share', () => {
  for (const percent of [0, 10, 50, 90, 100]) {
    const inside = uids.filter((uid) => isCanary({ namespaces: undefined, percent }, {}, uid));
    expect(Math.abs(inside.length / uids.length - percent / 100)).toBeLessThan(0.06);
    expect(inside.every((uid) => isCanary({ namespaces: undefined, percent: percent + 1 }, {}, uid))).toBe(
      true,
    );
  }
});

test('a share of all workloads is the smallest that has a workload', () => {
  for (const uid of [
    ...uids,
    '00000000-',
    'ffffffff-ffff',
    '028f5c28-',
    '028f5c29-',
    '7fffffff-',
    '80000000-',
  ]) {
    const percent = percentFor(uid);
    expect(uid < uidBound(percent)).toBe(true);
    expect(uid < uidBound(percent - 1)).toBe(false);
  }
});

test('a share of all workloads takes a pod without a controller only by its namespace', () => {
  const scope = { namespaces: { env: 'staging', team: 'a' }, percent: 100 };
  expect(isCanary(scope, {}, undefined)).toBe(false);
  expect(isCanary(scope, { env: 'staging' }, undefined)).toBe(false);
  expect(isCanary(scope, { env: 'staging', team: 'a', x: 'y' }, undefined)).toBe(true);
});

const SIDE = 'containers: [{name: a, image: a}]';
const FEW = templateSet({ config: DEMO_TEMPLATE, 'config.a': SIDE });

test.each([
  ['nothing', FEW, templateSet({ config: DEMO_TEMPLATE, 'config.a': SIDE }), []],
  [
    'a template with another text',
    FEW,
    templateSet({ config: DEMO_TEMPLATE, 'config.a': SIDE.replace('image: a', 'image: b') }),
    ['a'],
  ],
  ['one that is new', templateSet(), FEW, ['a']],
  ['one that is gone', FEW, templateSet(), ['a']],
  ['one that the API server sees otherwise', FEW, withMisfit(FEW), ['config']],
  [
    'all with other options',
    FEW,
    templateSet({ config: DEMO_TEMPLATE, options: 'position: first' }),
    undefined,
  ],
  ['all without a former set', undefined, FEW, undefined],
])('what has changed between two sets of templates is %s', (_, before, after, names) => {
  expect(changedTemplates(before, after)).toEqual(names && new Set(names));
});
