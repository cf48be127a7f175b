import { expect, test } from '@jest/globals';
import { formatPath } from '../../../src/util/diagnostic.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { PatchError, PodPatchBuilder, pointer } from '../../../src/util/patch.ts';

const pod: JsonObject = {
  metadata: { labels: { a: '1' } },
  spec: { containers: [{ name: 'a', env: [] }], volumes: null },
};

// biome-ignore format: a line for each case
test.each<[string, (draft: PodPatchBuilder) => void]>([
  ['add /spec/containers/2: OPERATION_VALUE_OUT_OF_BOUNDS', (draft) => draft.insert(['spec', 'containers'], {}, 2)],
  ['replace /spec/containers/1: OPERATION_PATH_UNRESOLVABLE', (draft) => draft.replace(['spec', 'containers', 1], {})],
  ['remove /spec/nothing: OPERATION_PATH_UNRESOLVABLE', (draft) => draft.remove(['spec', 'nothing'])],
  ['replace /spec/nothing/part: OPERATION_PATH_UNRESOLVABLE', (draft) => draft.replace(['spec', 'nothing', 'part'], 1)],
  ['remove /secret/length: OPERATION_PATH_UNRESOLVABLE', (draft) => draft.remove(['secret', 'length'])],
  ['metadata.labels is not a list', (draft) => draft.insert(['metadata', 'labels'], {})],
  ['spec.containers is not a mapping', (draft) => draft.set(['spec', 'containers'], 'a', 1)],
  ['metadata.labels.a is not a mapping', (draft) => draft.set(['metadata', 'labels', 'a'], 'b', 1)],
  ['TypeError', (draft) => draft.set(['metadata', '__proto__'], 'x', 1)],
])('PodPatchBuilder refuses a change by the error %s, which does not contain the pod', (message, change) => {
  const draft = new PodPatchBuilder({ ...pod, secret: 'hunter2' });
  expect(() => change(draft)).toThrow(PatchError);
  expect(() => change(draft)).toThrow(message);
  expect(() => change(draft)).not.toThrow('hunter2');
  expect(draft.operations).toEqual([]);
});

test.each<[(string | number)[], string, string]>([
  [[], '', ''],
  [['spec', 'containers', 0, 'image'], 'spec.containers[0].image', '/spec/containers/0/image'],
  [['metadata', 'labels', 'a.b/c~d'], 'metadata.labels["a.b/c~d"]', '/metadata/labels/a.b~1c~0d'],
  [['~1'], '["~1"]', '/~01'],
  [['a "b"', ''], '["a \\"b\\""][""]', '/a "b"/'],
])('the path %j is %s in messages and %s in a patch', (path, text, escaped) => {
  expect(formatPath(path)).toBe(text);
  expect(pointer(path)).toBe(escaped);
});
