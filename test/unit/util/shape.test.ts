import { expect, test } from '@jest/globals';
import { misfit, type Shape } from '../../../src/util/shape.ts';

interface Rule {
  readonly name: string;
  readonly weight?: number;
  readonly kind?: 'A' | 'B';
}
const SHAPE: Shape<{ readonly rules: readonly Rule[]; readonly open?: boolean }> = {
  rules: [{ name: 'string', 'weight?': 'number', 'kind?': 'string' }],
  'open?': 'boolean',
};

test.each<[unknown, string | undefined]>([
  [{ rules: [] }, undefined],
  [{ rules: [{ name: 'a', weight: 1, other: {} }], open: false }, undefined],
  [{}, 'spec.rules: expected an array'],
  [{ rules: {} }, 'spec.rules: expected an array'],
  [{ rules: [{ name: 'a' }, { weight: 1 }] }, 'spec.rules[1].name: expected a string'],
  [{ rules: [{ name: 'a', weight: null }] }, 'spec.rules[0].weight: expected a number'],
  [{ rules: [null] }, 'spec.rules[0]: expected an object'],
  [{ rules: [], open: 'yes' }, 'spec.open: expected a boolean'],
  [[], 'spec: expected an object'],
  [null, 'spec: expected an object'],
])('%j fits but where it does not: %s', (value, expected) => {
  expect(misfit(value, SHAPE, 'spec')).toBe(expected);
});
