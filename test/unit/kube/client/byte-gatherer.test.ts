import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ByteGatherer } from '../../../../src/kube/client/byte-gatherer.ts';

const MOST = 400_000;
const newGatherer = () => new ByteGatherer('a text', MOST);
/** Of any length up to several blocks, with characters of one to four bytes. */
const anyText = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 9 }), fc.integer({ min: 0, max: 180_000 }))
  .map(([unit, length]) => unit.repeat(1 + length / Buffer.byteLength(unit)));
const anySizes = fc.infiniteStream(
  fc.oneof(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 90_000 })),
);

function append(gatherer: ByteGatherer, text: string, sizes: Iterator<number>): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    const end = at + sizes.next().value;
    const piece = Buffer.from(bytes.subarray(at, end));
    gatherer.append(piece);
    // Its owner may use the memory again.
    piece.fill(0);
    at = end;
  }
}

test('joins texts from any pieces, one after the other', () => {
  fc.assert(
    fc.property(
      fc.array(anyText, { maxLength: 3 }),
      anySizes,
      fc.integer({ min: 1, max: 80 }),
      (texts, sizes, count) => {
        const gatherer = newGatherer();
        for (const text of texts) {
          append(gatherer, text, sizes);
          expect(gatherer.length).toBe(Buffer.byteLength(text));
          expect(gatherer.tail(count)).toBe(Buffer.from(text).subarray(-count).toString());
          expect(gatherer.take() === text).toBe(true);
          expect(gatherer.length).toBe(0);
          expect(gatherer.tail(count)).toBe('');
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('knows the tail and the characters that two blocks share', () => {
  const gatherer = newGatherer();
  const text = `${'a'.repeat(2 ** 16 - 1)}é${'b'.repeat(2)}`;
  gatherer.append(Buffer.from(text));
  expect(gatherer.tail(5)).toBe('aébb');
  expect(gatherer.take() === text).toBe(true);
});

test('refuses a text that is longer than allowed', () => {
  const gatherer = newGatherer();
  gatherer.append(Buffer.alloc(MOST));
  expect(() => gatherer.append(Buffer.alloc(1))).toThrow(
    `expected a text of at most ${MOST} bytes, got more`,
  );
});
