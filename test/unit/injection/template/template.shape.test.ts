import { describe, expect, test } from '@jest/globals';
import { parseTemplate } from '../../../../src/injection/template/parse-template.ts';

const TEMPLATE = `
metadata:
  labels: {team: a}
spec:
  initContainers:
    - name: setup
      image: setup:1
  containers:
    - name: envoy
      image: envoy:1
      args: [--x]
      resources:
        requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi}
        limits: {memory: 512Mi}
  volumes:
    - name: conf
      configMap: {name: envoy}
`;

function shapeOf(text: string): string {
  const parsed = parseTemplate('config', 'config', text);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.template.shape;
}

describe('the shape of a template', () => {
  test.each([
    ['an image', 'image: envoy:1', 'image: envoy:2'],
    ['the image of an init container', 'image: setup:1', 'image: setup:2'],
    ['a request of cpu', 'cpu: 100m', 'cpu: 200m'],
    ['a limit of memory', 'limits: {memory: 512Mi}', 'limits: {memory: 1Gi}'],
    ['a limit more', 'limits: {memory: 512Mi}', 'limits: {memory: 512Mi, cpu: "1"}'],
    ['no limits at all', '        limits: {memory: 512Mi}\n', ''],
  ])('stays with %s', (_, before, after) => {
    expect(TEMPLATE).toContain(before);
    expect(shapeOf(TEMPLATE.replace(before, after))).toBe(shapeOf(TEMPLATE));
  });

  test.each([
    ['an argument', '[--x]', '[--y]'],
    ['a volume', 'name: envoy}', 'name: other}'],
    ['another resource', 'ephemeral-storage: 1Gi', 'ephemeral-storage: 2Gi'],
    ['the name of a container', 'name: setup', 'name: prepare'],
    ['a container more', '  volumes:', '    - {name: more, image: m}\n  volumes:'],
    ['a label', 'team: a', 'team: b'],
    ['no labels', 'labels: {team: a}', 'annotations: {x: y}'],
  ])('changes with %s', (_, before, after) => {
    expect(TEMPLATE).toContain(before);
    expect(shapeOf(TEMPLATE.replace(before, after))).not.toBe(shapeOf(TEMPLATE));
  });

  test('is the same for a bare fragment of a spec', () => {
    const bare = 'containers: [{name: envoy, image: a}]';
    expect(shapeOf(`spec: {${bare}}`)).toBe(shapeOf(bare));
  });
});
