import { expect, test } from '@jest/globals';
import { decodeText } from '../../../../src/cli/io/decode-text.ts';

const TEXT = 'a: "é😀"\n';

test.each<[string, Uint8Array, string]>([
  ['UTF-8', Buffer.from(TEXT), TEXT],
  ['UTF-8 with a byte order mark, which stays', Buffer.from(`\ufeff${TEXT}`), `\ufeff${TEXT}`],
  ['the replacement character itself', Buffer.from('a: \ufffd\n'), 'a: \ufffd\n'],
  ['nothing', Buffer.from(''), ''],
])('reads %s', (_, bytes, text) => {
  expect(decodeText(bytes)).toBe(text);
});

test.each<[string, readonly number[], string]>([
  [
    'a byte of Latin-1',
    [0x61, 0x0a, 0x62, 0xe9, 0x0a],
    'line 2 has the byte 0xe9, which is not UTF-8: save it as UTF-8',
  ],
  [
    'a character that is cut off',
    [0x61, 0xf0, 0x9f],
    'line 1 has the byte 0xf0, which is not UTF-8: save it as UTF-8',
  ],
])('refuses %s', (_, bytes, message) => {
  expect(() => decodeText(Uint8Array.from(bytes))).toThrow(message);
});
