import { describe, expect, test } from '@jest/globals';
import { limitRangeViolations } from '../../../../../src/injection/podspec/rules/limit-ranges.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';

const range = (...limits: JsonObject[]) => [{ name: 'l', limits }];
const ofContainer = (item: JsonObject) => range({ type: 'Container', ...item });
const ofPod = (item: JsonObject) => range({ type: 'Pod', ...item });
const pod = (resources: JsonObject, spec: JsonObject = {}) => ({
  spec: { containers: [{ name: 'a', image: 'i', resources }], ...spec },
});
const cpu = (request: string, limit: string) => ({ requests: { cpu: request }, limits: { cpu: limit } });
const breaks = (bound: string, most: string, what = 'container a', resource = 'cpu') =>
  `${what}: its ${resource} breaks ${bound} ${most} of LimitRange l`;

describe('LimitRanges of containers', () => {
  // biome-ignore format: a line for each case
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ['a limit above the maximum', { max: { cpu: '1' } }, cpu('1', '1001m'), [breaks('max', '1')]],
    ['a limit at the maximum', { max: { cpu: '1' } }, cpu('1', '1000m'), []],
    ['no limit, for which the maximum is the default', { max: { cpu: '1' } }, {}, []],
    [
      'no limit and a request above the maximum',
      { max: { cpu: '1' } },
      { requests: { cpu: '2' } },
      ['container a: it requests more cpu than the default limit of a LimitRange: give it a limit', breaks('max', '1')],
    ],
    [
      'a request above the default limit',
      { default: { cpu: '50m' } },
      { requests: { cpu: '100m' } },
      ['container a: it requests more cpu than the default limit of a LimitRange: give it a limit'],
    ],
    ['a request below the minimum', { min: { cpu: '1' } }, cpu('999m', '2'), [breaks('min', '1')]],
    ['no request, for which the minimum is the default', { min: { cpu: '1' } }, {}, []],
    ['no request, which is the limit', { min: { cpu: '1' } }, { limits: { cpu: '1' } }, []],
    ['a ratio above the most', { maxLimitRequestRatio: { cpu: '2' } }, cpu('100m', '201m'), [breaks('maxLimitRequestRatio', '2')]],
    ['a ratio of the most', { maxLimitRequestRatio: { cpu: '2' } }, cpu('100m', '200m'), []],
    ['no ratio', { maxLimitRequestRatio: { cpu: '2' } }, { requests: { cpu: '1' } }, [breaks('maxLimitRequestRatio', '2')]],
    ['other resources', { max: { memory: '1' } }, cpu('1', '2'), []],
  ])('%s', (_, item, resources, expected) => {
    expect(limitRangeViolations(pod(resources), ofContainer(item))).toEqual(expected);
  });

  test('hold for init containers', () => {
    const spec = { initContainers: [{ name: 'b', image: 'i', resources: cpu('1', '2') }] };
    expect(limitRangeViolations(pod({}, spec), ofContainer({ max: { cpu: '1' } }))).toEqual([
      breaks('max', '1', 'container b'),
    ]);
  });
});

describe('several LimitRanges, of which any may set its default', () => {
  const [small, large, max] = [{ default: { cpu: '1' } }, { default: { cpu: '3' } }, { max: { cpu: '2' } }];
  test.each([
    [[small, large, max], [breaks('max', '2')]],
    [[large, small, max], [breaks('max', '2')]],
    [[small, max], []],
  ])('%j', (items, expected) => {
    expect(limitRangeViolations(pod({}), items.flatMap(ofContainer))).toEqual(expected);
  });
});

describe('LimitRanges of pods', () => {
  const two = (resources: JsonObject, initContainers: JsonObject[] = []) =>
    pod({}, { containers: ['a', 'b'].map((name) => ({ name, resources })), initContainers });

  // biome-ignore format: a line for each case
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ['the sum of limits', { max: { cpu: '3' } }, two(cpu('1', '2')), [breaks('max', '3', 'the pod')]],
    ['the sum of limits at the most', { max: { cpu: '4' } }, two(cpu('1', '2')), []],
    ['no limit', { max: { cpu: '4' } }, two({ requests: { cpu: '1' } }), [breaks('max', '4', 'the pod')]],
    ['the sum of requests', { min: { cpu: '3' } }, two(cpu('1', '2')), [breaks('min', '3', 'the pod')]],
    ['an init container that needs more', { max: { cpu: '4' } }, two(cpu('1', '2'), [{ name: 'c', resources: cpu('1', '5') }]), [breaks('max', '4', 'the pod')]],
    ['an init container that needs less', { max: { cpu: '4' } }, two(cpu('1', '2'), [{ name: 'c', resources: cpu('1', '4') }]), []],
    ["the pod's own limit", { max: { cpu: '3' } }, pod(cpu('1', '1'), { resources: { limits: { cpu: '4' } } }), [breaks('max', '3', 'the pod')]],
  ])('%s', (_, item, given, expected) => {
    expect(limitRangeViolations(given, ofPod(item))).toEqual(expected);
  });

  test('count the defaults of containers', () => {
    const both = range({ type: 'Container', default: { cpu: '1' } }, { type: 'Pod', max: { cpu: '1' } });
    expect(limitRangeViolations(two({}), both)).toEqual([breaks('max', '1', 'the pod')]);
  });
});

test('claims of storage are no matter of pods', () => {
  expect(
    limitRangeViolations(pod({}), range({ type: 'PersistentVolumeClaim', max: { storage: '1' } })),
  ).toEqual([]);
});
