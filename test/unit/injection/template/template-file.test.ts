import { expect, test } from '@jest/globals';
import { readConfigMapTexts, readTemplateFile } from '../../../../src/injection/template/template-file.ts';
import { type Location, textError } from '../../../../src/util/diagnostic.ts';

const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\n';

/** The place of a fault in the text under a key of the only ConfigMap of a file. */
function place(file: string, source: string, line?: number, column?: number): Location | undefined {
  const [only] = readTemplateFile(file);
  return only?.locate(textError(source, '', { ...(line && { line }), ...(column && { column }) }));
}

const dataOf = (file: string) => readTemplateFile(file).map(({ data }) => data);

test.each([
  ['a template', 'containers: []\n'],
  ['empty', ''],
  ['a list', '- a\n'],
  ['not YAML', 'containers: [\n'],
  ['an object whose apiVersion is not text', 'apiVersion: 1\nkind: ConfigMap\ndata: {config: a}\n'],
])('a bare file of a template that is %s is the default template', (_, text) => {
  expect(dataOf(text)).toEqual([{ config: text }]);
});

test('a bare file of a template is the text of the wanted key', () => {
  const sources = readConfigMapTexts('a: 1\n', 'envoy.json', () => false);
  expect(sources.map(({ data }) => data)).toEqual([{ 'envoy.json': 'a: 1\n' }]);
});

test.each<[string, number | undefined, number | undefined, Location]>([
  ['has the place of the fault', 3, 7, { line: 3, column: 7 }],
  ['begins at 1:1 if the fault has no line', undefined, 7, { line: 1, column: 1 }],
  ['begins at 1:1 if the fault has no column', 3, undefined, { line: 1, column: 1 }],
])('a bare file of a template %s', (_, line, column, expected) => {
  expect(place('containers: []\n', 'config', line, column)).toEqual(expected);
});

// biome-ignore format: a line for each case
test.each<[string, string, readonly Readonly<Record<string, string>>[]]>([
  ['a ConfigMap with a default template', `${CONFIG_MAP}data: {config: a}\n`, [{ config: 'a' }]],
  ['a ConfigMap with a named template', `${CONFIG_MAP}data: {config.b: b}\n`, [{ 'config.b': 'b' }]],
  ['all texts of it', `${CONFIG_MAP}data: {config: a, options: o}\n`, [{ config: 'a', options: 'o' }]],
  ['its texts without numbers', `${CONFIG_MAP}data: {config: a, x: 1, y: null}\n`, [{ config: 'a' }]],
  ['no ConfigMap without a template', `${CONFIG_MAP}data: {options: o}\n`, []],
  ['no key that only begins like a template', `${CONFIG_MAP}data: {configuration: a}\n`, []],
  ['no ConfigMap without data', CONFIG_MAP, []],
  ['no ConfigMap with empty data', `${CONFIG_MAP}data:\n`, []],
  ['no other kind', 'apiVersion: v1\nkind: Secret\ndata: {config: a}\n', []],
  [
    'the ConfigMaps of all documents',
    `${CONFIG_MAP}data: {config: a}\n---\n# none\n---\na: 1\n---\n${CONFIG_MAP}data: {config: b}\n`,
    [{ config: 'a' }, { config: 'b' }],
  ],
  ['the ConfigMaps of a List', 'apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, data: {config: a}}]\n', [{ config: 'a' }]],
])('a file of Kubernetes objects gives %s', (_, text, expected) => {
  expect(dataOf(text)).toEqual(expected);
});

test('a file of Kubernetes objects gives the ConfigMaps that have a wanted key', () => {
  const text = `${CONFIG_MAP}data: {config: a}\n---\n${CONFIG_MAP}data: {envoy.json: b}\n`;
  const sources = readConfigMapTexts(text, 'envoy.json', (key) => key.endsWith('.json'));
  expect(sources.map(({ data }) => data)).toEqual([{ 'envoy.json': 'b' }]);
});

const BLOCK = `${CONFIG_MAP}data:\n  other: x\n  config: |\n\n    a: 1\n    b: 2\n`;
const LIST = `apiVersion: v1\nkind: List\nitems:\n  - {apiVersion: v1, kind: Pod}\n  - apiVersion: v1\n    kind: ConfigMap\n    data:\n      config: |\n        a: 1\n`;

// biome-ignore format: a line for each case
test.each<[string, string, string, number | undefined, number | undefined, Location]>([
  ['is in the first line of a block', BLOCK, 'config', 1, 1, { line: 6, column: 5 }],
  ['is in a later line of a block', BLOCK, 'config', 3, 4, { line: 8, column: 8 }],
  ['without a line is at the start of a block', BLOCK, 'config', undefined, 4, { line: 6, column: 1 }],
  ['without a column is at the start of a block', BLOCK, 'config', 3, undefined, { line: 6, column: 1 }],
  ['is at the start of a text in flow style', BLOCK, 'other', 2, 2, { line: 4, column: 10 }],
  ['is at the data if the text is missing', BLOCK, 'options', 1, 1, { line: 4, column: 3 }],
  ['is at the data if the text is a mapping', `${CONFIG_MAP}data: {config.a: a, config: {b: c}}\n`, 'config', 1, 1, { line: 3, column: 7 }],
  ['is in the item of a List', LIST, 'config', 1, 4, { line: 9, column: 12 }],
  ['is in a later document', `apiVersion: v1\nkind: Secret\n---\n${CONFIG_MAP}data:\n  config: |\n    a: 1\n`, 'config', 1, 1, { line: 8, column: 5 }],
  [
    'is in the given text, not in the one that the parser wants',
    `{"apiVersion":"v1","kind":"ConfigMap","data":{\n"config":"a"}}`,
    'config',
    1,
    1,
    { line: 2, column: 10 },
  ],
  ['is at 1:1 of a file that cannot be edited', `${CONFIG_MAP}data: {config: a}\n: b\n`, 'config', 1, 1, { line: 1, column: 1 }],
])('a fault in a ConfigMap %s', (_, text, source, line, column, expected) => {
  expect(place(text, source, line, column)).toEqual(expected);
});

test('a fault in a ConfigMap is in its own ConfigMap', () => {
  const text = `${CONFIG_MAP}data: {config: a}\n---\n${CONFIG_MAP}data: {config: b}\n`;
  const fault = textError('config', '');
  expect(readTemplateFile(text).map(({ locate }) => locate(fault))).toEqual([
    { line: 3, column: 16 },
    { line: 7, column: 16 },
  ]);
});
