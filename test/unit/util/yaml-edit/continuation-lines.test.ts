import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { missingIndentation } from '../../../../src/util/yaml-edit/continuation-lines.ts';
import { readManifests } from '../../../../src/util/yaml-edit/manifests.ts';

/** The text with the missing indentation as dots. */
function dotted(text: string): string {
  return missingIndentation(text).reduceRight(
    (rest, { at, text: blanks }) => rest.slice(0, at) + '.'.repeat(blanks.length) + rest.slice(at),
    text,
  );
}

describe('missing indentation', () => {
  test.each<[string, string, string]>([
    ['of quoted text', 'a: "b\nc"\n', 'a: "b\n.c"\n'],
    ['below a deeper key', 'a:\n    b: "c\n  d"\n', 'a:\n    b: "c\n...  d"\n'],
    ['of text in single quotes with a quote in it', "a: 'b''\nc'\n", "a: 'b''\n.c'\n"],
    ['of text with an escaped quote', 'a: "b\\"\nc"\n', 'a: "b\\"\n.c"\n'],
    ['of a mapping in braces', 'a: {\nb: 1\n}\nc: 1\n', 'a: {\n.b: 1\n.}\nc: 1\n'],
    ['of a list in a list', '- [a,\nb]\n- c\n', '- [a,\n.b]\n- c\n'],
    ['below a dash and a key', '- a: [b,\nc]\n', '- a: [b,\n...c]\n'],
    ['behind an anchor and a tag', 'a: &x !y [b,\nc]\n', 'a: &x !y [b,\n.c]\n'],
    ['of a value on a line of its own', 'a:\n  "b\nc"\n', 'a:\n  "b\n.c"\n'],
    ['after a quoted key', '"a: b": "c\nd"\n', '"a: b": "c\n.d"\n'],
    [
      'with brackets in quotes and comments',
      "a: [ # ]\n\"]\", ']',\nit's]\nb: 1\n",
      "a: [ # ]\n.\"]\", ']',\n.it's]\nb: 1\n",
    ],
    ['not of blank lines', 'a: "b\n\nc"\n', 'a: "b\n\n.c"\n'],
    ['in the second document', 'a: "b\n c"\n---\nd: "e\nf"\n', 'a: "b\n c"\n---\nd: "e\n.f"\n'],
    ['to the end of a text that is not closed', 'a: "b\nc', 'a: "b\n.c'],
    ['to the end of a list that is not closed', 'a: [b\nc', 'a: [b\n.c'],
  ])('%s', (_, text, want) => {
    expect(dotted(text)).toBe(want);
  });

  test.each<[string, string]>([
    ['in a literal block', 'a: |\n  "b\n  {c\nd: 1\n'],
    ['in a folded block of a list', '- >\n "b\n- c\n'],
    ['in plain text', 'a: b\n  "c\n  [d\ne: 1\n'],
    ['in plain text with quotes', 'a: it\'s\nb: 5"\nc: d[\n'],
    ['in comments', '# "a\nb: 1 # {\nc: 1\n'],
    ['of a root', '{\n"a": 1\n}\n'],
    ['of lines that are indented', 'a: {\n  b: 1\n }\n'],
  ])('none %s', (_, text) => {
    expect(missingIndentation(text)).toEqual([]);
  });

  test('is all that a value in braces lacks', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        fc.constantFrom('x:\n    y: ', '- - ', 'x:\n- y: '),
        (value, before) => {
          const json = JSON.stringify([value], null, 1).replaceAll(/^ +/gm, '');
          const [found = null] = readManifests(`${before}${json}\n`);
          const [want = null] = readManifests(`${before}${JSON.stringify([value])}\n`);
          expect(found).toEqual(want);
        },
      ),
    );
  });
});
