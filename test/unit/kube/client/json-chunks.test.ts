import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonParts, jsonChunks } from '../../../../src/kube/client/json-chunks.ts';

test('are together what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect([...jsonChunks(value)].join('')).toBe(JSON.stringify(value));
    }),
  );
});

test('have the parts of what is JSON already', () => {
  const value = { text: new JsonParts(['"a', '\\n"']), b: 1 };
  expect([...jsonChunks(value)].join('')).toBe('{"text":"a\\n","b":1}');
});

test('leave out what is undefined', () => {
  expect([...jsonChunks({ a: undefined, b: [1, undefined], c: {} })].join('')).toBe('{"b":[1,null],"c":{}}');
});

test.each([
  ['ASCII', '"rds"\n'],
  ['characters of two code units', '😀'],
])('are short for a long text of %s', (_, part) => {
  // The odd length cuts a character of two code units.
  const text = `x${part.repeat(200_000)}`;
  const chunks = [...jsonChunks({ data: [text] })];
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(100_000);
  expect(JSON.parse(chunks.join(''))).toEqual({ data: [text] });
});
