import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { jsonLines, MalformedLineError } from '../../../../src/kube/api/response.ts';

async function* chunked(...chunks: readonly (string | Uint8Array)[]) {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of jsonLines(chunked(...chunks))) values.push(value);
  return values;
}

describe('lines of JSON', () => {
  test('carry any values, wherever the bytes are cut', async () => {
    const values = fc.array(fc.record({ text: fc.string({ unit: 'grapheme' }), number: fc.integer() }));
    await fc.assert(
      fc.asyncProperty(values, fc.infiniteStream(fc.integer({ min: 1, max: 20 })), async (sent, sizes) => {
        const bytes = Buffer.from(sent.map((value) => `${JSON.stringify(value)}\n`).join(''));
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; ) {
          const end = at + sizes.next().value;
          chunks.push(bytes.subarray(at, end));
          at = end;
        }
        expect(await read(...chunks)).toEqual(sent);
      }),
    );
  });

  test('drop a last line without a newline, even when it is whole JSON', async () => {
    expect(await read('{"a":1}\n{"a":', '2}')).toEqual([{ a: 1 }]);
  });

  test.each(['<html>', '{"a":1', 'undefined', '{"a":1}{"a":2}'])(
    'refuse the line %j, and quote it',
    async (line) => {
      await expect(read(`${line}\n`)).rejects.toThrow(MalformedLineError);
      await expect(read(`${line}\n`)).rejects.toThrow(`expected a line of JSON, got ${JSON.stringify(line)}`);
    },
  );

  test('refuse a line that is too long before it fills the memory', async () => {
    const chunk = 'x'.repeat(1024 * 1024);
    await expect(read(...Array.from({ length: 17 }, () => chunk))).rejects.toThrow(
      'expected a line of at most 16777216 characters, got more',
    );
  });
});
