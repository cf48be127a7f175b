import { expect, test } from '@jest/globals';
import { configurationFaults, weightFaults } from '../../../src/injection/envoy/configuration-faults.ts';
import { parseTemplateConfigMap } from '../../../src/injection/template/template-set.ts';
import { clip, quote, quoteText } from '../../../src/util/clip.ts';
import { textError } from '../../../src/util/diagnostic.ts';
import { parseAnnotation, sizeProblem, textExcess } from '../../../src/util/text-bounds.ts';
import { DEMO_TEMPLATE } from '../../support/injection/demo.ts';

const EXCESS = 'the ConfigMap has more than 20000 lines, commas and brackets: shorten it';

test.each(['\n', '\r', ',', '[', '{'])(
  'the texts of a ConfigMap may have at most 20,000 parts: %j',
  (part) => {
    expect(textExcess({ config: part.repeat(19_980) })).toBeUndefined();
    expect(textExcess({ config: part.repeat(19_981) })).toBe(EXCESS);
  },
);

test('the texts of a ConfigMap share one limit, and each text counts as twenty parts', () => {
  const texts = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`${i}`, ',']));
  expect(textExcess(texts(952))).toBeUndefined();
  expect(textExcess(texts(953))).toBe(EXCESS);
});

test('the texts of a ConfigMap may have any number of other characters', () => {
  expect(textExcess({ config: 'x]}:"- '.repeat(100_000) })).toBeUndefined();
});

test('the texts of a ConfigMap give one fault if they are too large, for each kind of ConfigMap', () => {
  const much = `${DEMO_TEMPLATE}${'#\n'.repeat(20_000)}`;
  expect(parseTemplateConfigMap({ config: much })).toEqual({
    faults: [textError('config', EXCESS)],
  });
  expect(configurationFaults({ 'envoy.yaml': much })).toEqual([textError('envoy.yaml', EXCESS)]);
  expect(weightFaults({ 'canary.app': '\n'.repeat(20_000) })).toEqual([textError('canary.app', EXCESS)]);
});

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('parseAnnotation parses 256 KiB', () => {
  const text = JSON.stringify('x'.repeat(256 * 1024 - 2));
  expect(parseAnnotation(text)).toHaveLength(256 * 1024 - 2);
});

test('parseAnnotation returns undefined for one character more', () => {
  const text = JSON.stringify('x'.repeat(256 * 1024 - 1));
  expect(parseAnnotation(text)).toBeUndefined();
  expect(sizeProblem(text)).toBe(
    'has 262145 characters: use at most 262144, the limit for all annotations of a pod together',
  );
});

test('parseAnnotation parses a value that nests 32 deep', () => {
  expect(parseAnnotation(nested(32))).toBeDefined();
  expect(parseAnnotation('{"a":'.repeat(32) + 0 + '}'.repeat(32))).toBeDefined();
});

test('parseAnnotation returns undefined for a value that nests deeper', () => {
  expect(sizeProblem(nested(33))).toBe('nests lists and objects deeper than 32: flatten it');
  expect(parseAnnotation('{"a":'.repeat(33) + 0 + '}'.repeat(33))).toBeUndefined();
});

test.each([
  ['brackets in text', JSON.stringify('['.repeat(50))],
  ['brackets after a quote in text', JSON.stringify(`"${'['.repeat(50)}`)],
  ['brackets after an escape in text', JSON.stringify(`\\${'{'.repeat(50)}`)],
  ['many adjacent lists', `[${'[],'.repeat(50)}{}]`],
])('parseAnnotation does not count %s as nesting', (_, text) => {
  expect(parseAnnotation(text)).toEqual(JSON.parse(text));
});

test('parseAnnotation returns undefined for text that is not JSON', () => {
  expect(parseAnnotation('{')).toBeUndefined();
  expect(sizeProblem('{')).toBeUndefined();
});

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['a\u{1F600}b', 3, 'a…'],
])('clip cuts %j to %d characters', (text, length, clipped) => {
  expect(clip(text, length)).toBe(clipped);
});

test('quote returns JSON', () => {
  expect(quote(['a', 1])).toBe('["a",1]');
});

test('quote cuts the JSON to 80 characters', () => {
  expect(quote('x'.repeat(78))).toBe(`"${'x'.repeat(78)}"`);
  expect(quote('x'.repeat(79))).toBe(`"${'x'.repeat(78)}…`);
});

test('quote cuts a text within its quotes', () => {
  expect(quoteText('a"b')).toBe('"a\\"b"');
  expect(quoteText('abcd', 3)).toBe('"ab…"');
  expect(quoteText('x'.repeat(81))).toBe(`"${'x'.repeat(79)}…"`);
});
