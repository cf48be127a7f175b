import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { gather } from '../../../../src/cli/io/gather.ts';

test('gathers as many bytes as are allowed, and fails at the first one that is too many', async () => {
  const chunks = () => Readable.from([Buffer.from('abc'), Buffer.from('def')]);
  expect(String(await gather(chunks(), 6))).toBe('abcdef');
  await expect(gather(chunks(), 5)).rejects.toThrow('it has more than 5 bytes: split the input');
});
