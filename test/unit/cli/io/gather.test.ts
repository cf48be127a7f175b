import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { gather } from '../../../../src/cli/io/gather.ts';

test('an input is read whole, and to its limit', async () => {
  const parts = [Buffer.from('ab'), Buffer.from('c')];
  expect(String(await gather(Readable.from(parts), 3))).toBe('abc');
  await expect(gather(Readable.from(parts), 2)).rejects.toThrow('it has more than 2 bytes');
});
