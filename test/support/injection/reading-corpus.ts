/** A pod that opts in, as the start of a text in block style. */
const POD = `apiVersion: v1
kind: Pod
metadata:
  name: app
  labels: {initializer.kubernetes.io/envoy: "true"}
spec:
  containers:
  - name: app # the application
    image: app
`;
/** The same as the API server writes it into a list, whose items it begins with two columns. */
const BARE_POD = `${POD.slice(POD.indexOf('metadata')).trimEnd().replaceAll('\n', '\n  ')}\n`;
/** The same as the start of a JSON object. */
const JSON_POD =
  '"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app", "labels": {"initializer.kubernetes.io/envoy": "true"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}';

/** A text in an odd form, by what is odd about it. */
export type OddText = readonly [name: string, text: string];

/** A pod with more fields after it. */
const after = (fields: readonly OddText[]): readonly OddText[] =>
  fields.map(([name, text]) => [name, `${POD}${text}`]);

/** What no API server looks at, in the forms that a scalar can have. */
const SCALARS: readonly OddText[] = (
  [
    ['yes', 'yes'],
    ['a tilde', '~'],
    ['nothing', ''],
    ['an octal number', '0644'],
    ['a binary number', '0b1010'],
    ['a hexadecimal number', '0x1F'],
    ['underscores', '1_000_000'],
    ['a sexagesimal number', '1:30:00'],
    ['a date', '2001-12-14'],
    ['a time', '2001-12-14t21:59:43.10-05:00'],
    ['a version', '1.10'],
    ['an exponent', '1e3'],
    ['a fraction without a digit before it', '.5'],
    ['a number of 64 bits', '9223372036854775807'],
    ['a number that no float holds', '1e400'],
    ['a number that no integer holds', '18446744073709551616'],
    ['digits that are no octal number', '08'],
    ['an equals sign', '='],
    ['infinity', '".inf"'],
    ['a text with a hash', 'a#b'],
    ['a text with brackets', 'a[0]{b}'],
    ['a text that begins with a dash', '-a'],
    ['single quotes', "'it''s'"],
    ['escapes', '"\\t\\x41\\u00e9\\U0001F600\\_\\N"'],
    ['a tag of text', '!!str 5'],
    ['a tag of a number', '!!int "5"'],
    ['a tag of a truth value', '!!bool "true"'],
    ['a tag of nothing', '!!null ""'],
    ['bytes', '!!binary aGVsbG8='],
    ['a tag of its own', '!mine a'],
    ['a tag of its own, in full', '!<tag:example.com,2000:mine> a'],
    ['the tag that is only a mark', '! 5'],
    ['an anchor', '&x a'],
    ['an anchor and a tag', '&x !!str 5'],
    ['a comment behind it', 'a # b'],
    ['a tab behind it', 'a\t'],
  ] as const
).map(([name, text]) => [name, `x: ${text}\n`]);

/** Block scalars, and plain and quoted text on several lines. */
const LINES: readonly OddText[] = [
  ['a literal block', 'x: |\n  a\n   b\n\n  c\n'],
  ['a folded block', 'x: >\n  a\n  b\n\n  c\n   d\n  e\n'],
  ['a block without its last line break', 'x: |-\n  a\ny: 1\n'],
  ['a block with all its line breaks', 'x: |+\n  a\n\n\ny: 1\n'],
  ['a block with an indentation of its own', 'x: |2\n   a\n  b\n'],
  ['an empty block', 'x: |\ny: 1\n'],
  ['a block with a comment behind its mark', 'x: | # a\n  # b\n  c\n'],
  ['a block that looks like a mapping', 'x: |\n  a: {\n  b: "\n'],
  ['plain text on several lines', 'x: a\n  b\n\n  c\n'],
  ['plain text on several lines, with quotes in it', 'x: a\n  "b\n  {c\n'],
  ['quoted text on several lines', 'x: "a\n  b\n\n  c"\n'],
  ['quoted text on several lines, not indented', 'x: "a\nb\n\nc"\n'],
  ['quoted text on several lines, with less indentation than its key', 'x:\n    y: "a\n  b\n c"\n'],
  ['quoted text with an escaped line break, not indented', 'x:\n  y: "a\\\nb\\\n  c"\n'],
  ['quoted text in a list of lists, not indented', 'x:\n- - "a\n  b"\n  - c\n'],
  ['a quoted key with a colon in it', '"x: y": a\n'],
  ['quoted text with a comment behind it, not indented', 'x:\n  y: "a\nb" # c\nz: 1\n'],
];

// biome-ignore format: a line for each case
const COLLECTIONS: readonly OddText[] = [
  ['a flow mapping', 'x: {a: 1, "b": [c, {d: e}], f: }\n'],
  ['a flow mapping on several lines', 'x: {\n  a: 1,\n  b: 2\n  }\n'],
  ['a flow mapping that ends in the column of its key', 'x:\n  y: {\n    a: 1\n  }\n'],
  ['a flow mapping whose lines are not indented', 'x:\n  y: {\na: 1,\nb: 2\n}\nz: 1\n'],
  ['a flow list whose lines are not indented', 'x:\n  y: [\na,\nb\n]\nz: 1\n'],
  ['a flow list with less indentation than its key', 'x:\n    y: [a,\n  b,\n c]\n'],
  ['flow collections in each other, not indented', 'x:\n  y: {a: [\n{b: "c\nd"}, # e }\n{f: \'g]\'}\n]}\nz: 1\n'],
  ['a flow mapping with a comma at its end', 'x: {a: 1,}\n'],
  ['a flow mapping with keys only', 'x: {a, b: 1}\n'],
  ['nothing in a flow mapping', 'x: {a: , b: 1}\n'],
  ['a pair in a flow list', 'x: [a: 1, b]\n'],
  ['comments in a flow mapping', 'x: { # a\n  b: 1, # }\n  c: 2 # d\n  }\n'],
  ['plain text on several lines in a flow list', 'x: [a\n  b, c]\n'],
  ['an empty mapping and an empty list', 'x: {}\ny: []\n'],
  ['a list in the column of its key', 'x:\n- a\n- b\n'],
  ['a list that is indented', 'x:\n    - a\n    - b\n'],
  ['a list of lists', 'x:\n- - a\n  - b\n-\n  - c\n'],
  ['a list with nothing in it', 'x:\n-\n- a\n-\n'],
  ['mappings in a list', 'x:\n- a: 1\n  b: 2\n-\n  c: 3\n'],
  ['an explicit key', '? x\n: y\n'],
  ['an explicit key with a value on a line of its own', '? x\n:\n  a: 1\n'],
  ['an explicit key without a value', '? x\ny: 1\n'],
  ['an explicit key in a flow mapping', 'x: {? a : 1, ? b}\n'],
  ['an explicit key that is a block', '? |\n  x\n: y\n'],
  ['an explicit key in quotes', '? "x y"\n: z\n'],
  ['a number as a key', '5: a\n'],
  ['an alias as a key', 'x: &a b\n*a : c\n'],
  ['a tab that indents in a flow list', 'x: [a,\n\tb]\n'],
  ['a truth value as a key', 'x: {yes: a}\n'],
  ['an empty key', '"": a\n'],
  ['a key with blanks before its colon', 'x : a\n'],
  ['keys that are given twice', 'x: 1\ny: 2\nx: 3\n'],
  ['keys that are given twice in a flow mapping', 'x: {a: 1, a: 2}\n'],
  ['an alias', 'x: &a {b: 1}\ny: *a\n'],
  ['a merge', 'x: &a {b: 1, c: 2}\ny:\n  <<: *a\n  c: 3\n'],
  ['a merge after a key', 'x: &a {b: 1, c: 2}\ny:\n  c: 3\n  <<: *a\n'],
  ['a merge of two', 'x: [&a {b: 1}, &c {b: 2, d: 3}]\ny: {<<: [*a, *c]}\n'],
  ['an anchor that is given twice', 'x: &a 1\ny: &a 2\nz: *a\n'],
  ['an anchor on a mapping on the lines below', 'x: &a\n  b: 1\ny: *a\n'],
  ['a tag on a mapping', 'x: !!map {a: 1}\n'],
  ['a tag of its own on a mapping on the lines below', 'x: !mine\n  a: 1\n'],
  ['a tag of its own on a list', 'x: !mine [a]\n'],
  ['comments everywhere', '# a\nx: # b\n  # c\n  y: 1 # d\n# e\n'],
  ['tabs after colons', 'x:\ta\n'],
  ['deep indentation', 'x:\n          y:\n                    z: 1\n'],
];

const FILES: readonly OddText[] = [
  ['a byte order mark', `\ufeff${POD}`],
  ['line ends of Windows', POD.replaceAll('\n', '\r\n')],
  ['no line break at its end', POD.trimEnd()],
  ['blank lines at its end', `${POD}\n\n\n`],
  ['a start of a document with a comment', `--- # a\n${POD}`],
  ['comments before and after', `# a\n\n${POD}# b\n`],
  ['several documents', `${POD}---\n${POD}---\n`],
  ['empty documents', `---\n---\n# a\n---\n${POD}---\n\n`],
  ['a document in flow style', `{${JSON_POD}}\n`],
  ['a document in flow style, not closed where it began', `---\n{${JSON_POD.replaceAll(', "', ',\n"')}\n}\n`],
  ['braces in a comment of a document in flow style', `{ # }{\n${JSON_POD}}\n`],
  ['a PodList whose items lack their kind', `apiVersion: v1\nkind: PodList\nitems:\n- ${BARE_POD}`],
  ['a List', `apiVersion: v1\nkind: List\nitems:\n- ${POD.trimEnd().replaceAll('\n', '\n  ')}\n`],
];

/** YAML in odd forms, of pods that opt in. */
export const ODD_YAML: readonly OddText[] = [
  ...after(SCALARS),
  ...after(LINES),
  ...after(COLLECTIONS),
  ...FILES,
];

/** JSON in odd forms, of pods that opt in. */
export const ODD_JSON: readonly OddText[] = [
  ['on one line', `{${JSON_POD}}`],
  ['on many lines', `${JSON.stringify(JSON.parse(`{${JSON_POD}}`), null, 2)}\n`],
  ['on many lines, not indented', `{\n${JSON_POD.replaceAll(', "', ',\n"')}\n}\n`],
  ['with blanks around it', `\n\n  {${JSON_POD}}  \n\n`],
  ['two objects with a separator', `{${JSON_POD}}\n---\n{${JSON_POD}}\n`],
  ['an object, and a document in block style', `{${JSON_POD}}\n---\n${POD}`],
  ['escapes', `{${JSON_POD}, "x": "\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"}`],
  ['half a pair of escapes', `{${JSON_POD}, "x": "\\ud83d"}`],
  ['numbers', `{${JSON_POD}, "x": [0, -0, -1, 1.5, 1e3, 1E-2, 9007199254740991]}`],
  ['text that YAML reads otherwise', `{${JSON_POD}, "x": ["yes", "1", "~", "", "0644", "# a", "a: b"]}`],
  ['keys that are given twice', `{${JSON_POD}, "x": 1, "x": 2}`],
  ['an empty key', `{${JSON_POD}, "": {"": 1}}`],
  ['a long key', `{${JSON_POD}, "${'k'.repeat(2_000)}": 1}`],
  ['a List', `{"apiVersion": "v1", "kind": "List", "items": [{${JSON_POD}}, {${JSON_POD}}]}`],
  [
    'a PodList whose items lack their kind',
    `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [{${JSON_POD.slice(JSON_POD.indexOf('"metadata"'))}}]}`,
  ],
  ['a list of another name', `{"apiVersion": "v1", "kind": "Secret", "items": [{${JSON_POD}}]}`],
];
