import { expect, test } from '@jest/globals';
import { type JsonValue, own } from '../../../src/util/json.ts';

test.each<[string, string, JsonValue | undefined]>([
  ['{"a":1}', 'a', 1],
  ['{"a":null}', 'a', null],
  ['{"a":1}', 'b', undefined],
  ['{}', 'constructor', undefined],
  ['{}', 'toString', undefined],
  ['{}', '__proto__', undefined],
  ['{"constructor":"mine"}', 'constructor', 'mine'],
  ['{"__proto__":{"a":1}}', '__proto__', { a: 1 }],
  ['[1]', 'length', undefined],
  ['"text"', 'length', undefined],
  ['null', 'a', undefined],
])('own returns from %s only its own %s', (text, key, value) => {
  expect(own(JSON.parse(text), key)).toEqual(value);
});
