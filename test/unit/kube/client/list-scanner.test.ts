import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ListScanner } from '../../../../src/kube/client/list-scanner.ts';

/** The texts of the items, and the frame. */
function scan(...chunks: readonly (string | Uint8Array)[]): { items: string[]; frame: string } {
  const items: string[] = [];
  const scanner = new ListScanner((text) => items.push(text));
  for (const chunk of chunks) scanner.write(Buffer.from(chunk));
  return { items, frame: scanner.end() };
}

/** The list, joined from the frame and the items; throws if a part is not JSON. */
function rejoined(...chunks: readonly (string | Uint8Array)[]): unknown {
  const { items, frame } = scan(...chunks);
  const values = items.map((item): unknown => JSON.parse(item));
  const list = JSON.parse(frame);
  if (values.length === 0) return list;
  expect(list.items).toEqual(values.map(() => 0));
  return { ...list, items: values };
}

/** The text in chunks of these sizes. */
function cut(text: string, sizes: Iterator<number>): Uint8Array[] {
  const bytes = Buffer.from(text);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + sizes.next().value;
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

const anyString = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'items', 'é', '😀', '\n', ' '),
  }),
);
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    anyString,
    fc.double(),
    fc.constantFrom(null, true, false, 0, {}, []),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(anyString, fc.constant('items')), tie('value'), { maxKeys: 4 }),
  ),
}));
const anyItems = fc.oneof(
  fc.array(anyValue, { maxLength: 6 }).map((items) => ({ items })),
  fc.constantFrom({}, { items: null }, { items: 'all' }, { items: {} }),
);
/** Lists, with fields before and after the items, as lists have them or not. */
const anyList = fc
  .tuple(fc.dictionary(anyString, anyValue), anyItems, fc.dictionary(anyString, anyValue))
  .map(([before, items, after]) => JSON.parse(JSON.stringify({ ...before, ...items, ...after })));
const anySizes = fc.infiniteStream(fc.integer({ min: 1, max: 20 }));
const anyIndent = fc.constantFrom(undefined, 1, '\t');

describe('a list in any chunks', () => {
  test('equals the result of JSON.parse', () => {
    fc.assert(
      fc.property(anyList, anyIndent, anySizes, (list, indent, sizes) => {
        const text = JSON.stringify(list, undefined, indent);
        expect(rejoined(...cut(text, sizes))).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is not JSON when its end is cut off anywhere', () => {
    fc.assert(
      fc.property(
        anyList,
        anySizes,
        fc.double({ min: 0, max: 1, maxExcluded: true }),
        (list, sizes, where) => {
          const bytes = JSON.stringify(list);
          const half = bytes.slice(0, Math.floor(bytes.length * where));
          expect(() => rejoined(...cut(half, sizes))).toThrow(SyntaxError);
        },
      ),
    );
  });

  test('is JSON exactly when JSON.parse accepts it, after any small damage', () => {
    const damage = fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'x', '\u00a0');
    fc.assert(
      fc.property(
        anyList,
        damage,
        fc.nat(),
        fc.nat({ max: 1 }),
        anySizes,
        (list, put, where, taken, sizes) => {
          const text = JSON.stringify(list);
          const at = where % (text.length + 1);
          // Half of a surrogate pair has no UTF-8 bytes.
          const damaged = Buffer.from(text.slice(0, at) + put + text.slice(at + taken)).toString();
          // JSON.parse takes the last of two keys; the API server sends each key once.
          fc.pre((damaged.match(/"items"/g)?.length ?? 0) < 2);
          expect(valueOrRefusal(() => rejoined(...cut(damaged, sizes)))).toEqual(
            valueOrRefusal(() => JSON.parse(damaged)),
          );
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

function valueOrRefusal(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    return error instanceof SyntaxError ? 'no JSON' : error;
  }
}

describe('the items of a list', () => {
  test.each<[string, string, readonly string[], string]>([
    [
      'come one by one',
      '{"items":[{"a":1},{"a":[2,3]}],"b":[4]}',
      ['{"a":1}', '{"a":[2,3]}'],
      '{"items":[0,0],"b":[4]}',
    ],
    ['include text that JSON does not treat as blank', '{"items":[\u00a0]}', ['\u00a0'], '{"items":[0]}'],
    ['may be empty', '{"items":[ ]}', [], '{"items":[]}'],
    ['may be null', '{"items":null}', [], '{"items":null}'],
    [
      'are those of the list, not of an item',
      '{"items":[{"items":[1]}]}',
      ['{"items":[1]}'],
      '{"items":[0]}',
    ],
    [
      'are those of the list, not of its metadata',
      '{"metadata":{"items":[1]}}',
      [],
      '{"metadata":{"items":[1]}}',
    ],
    [
      'are found by their key, not by a similar text',
      '{"a":"{\\"items\\":[1","b":[2]}',
      [],
      '{"a":"{\\"items\\":[1","b":[2]}',
    ],
    ['leave errors around them in the frame', '{"items":[1,,2,]}x', ['1', '2'], '{"items":[0,,0,]}x'],
  ])('%s', (_, text, items, frame) => {
    expect(scan(text)).toEqual({ items, frame });
  });

  test('are passed on with their last byte', () => {
    const items: string[] = [];
    const scanner = new ListScanner((text) => items.push(text));
    scanner.write(Buffer.from('{"items":[{"a":"'));
    scanner.write(Buffer.from('x"},'));
    expect(items).toEqual(['{"a":"x"}']);
  });
});

describe('the scanner refuses endless input', () => {
  const mebibyte = 'x'.repeat(1024 * 1024);
  test.each<[string, string, string, string]>([
    ['an item', '{"items":["', mebibyte, 'an item of the list of at most 16777216 bytes'],
    ['a list before its items', '{"a":"', mebibyte, 'a list without its items of at most 2097152 bytes'],
    [
      'a list of items',
      '{"items":[0',
      ',0'.repeat(512 * 1024),
      'a list without its items of at most 2097152 bytes',
    ],
    [
      'a list of empty items',
      '{"items":[',
      ','.repeat(1024 * 1024),
      'a list without its items of at most 2097152 bytes',
    ],
    [
      'what follows a list',
      '{"items":[]}',
      '\n'.repeat(1024 * 1024),
      'a list without its items of at most 2097152 bytes',
    ],
  ])('%s', (_, beginning, more, message) => {
    const scanner = new ListScanner(() => undefined);
    scanner.write(Buffer.from(beginning));
    expect(() => {
      for (let i = 0; i < 17; i++) scanner.write(Buffer.from(more));
    }).toThrow(expect.objectContaining({ code: 'ETOOLARGE', message: expect.stringContaining(message) }));
  });
});
