import { describe, expect, test } from '@jest/globals';
import {
  celHasShape,
  hasShape,
  POD_SHAPES,
  shapeFields,
} from '../../../../src/injection/template/pod-shapes.ts';

describe('POD_SHAPES', () => {
  test.each([...POD_SHAPES])('a pod of the shape $name has it, and no other', (shape) => {
    const pod = { spec: shapeFields(shape) };
    expect(POD_SHAPES.filter((each) => hasShape(pod, each))).toEqual([shape]);
    expect(hasShape({ spec: { os: null } }, shape)).toBe(false);
    expect(hasShape({}, shape)).toBe(false);
  });

  test('are conditions in CEL', () => {
    expect(POD_SHAPES.map(celHasShape)).toEqual([
      'object.spec.?restartPolicy == optional.of("Never")',
      'object.spec.?restartPolicy == optional.of("OnFailure")',
      'object.spec.?os.?name == optional.of("linux")',
      'object.spec.?hostIPC == optional.of(true)',
      'object.spec.?hostUsers == optional.of(false)',
    ]);
  });
});
