import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';

const text = await readFile('test/security.md', 'utf8');
const claims = [...text.matchAll(/`(\S+) › ([^`]+)`/g)].map(([, file = '', title = '']) => ({ file, title }));

test('test/security.md names a test in each row of its tables', () => {
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| attack'));
  expect(rows.filter((row) => !/`\S+ › [^`]+`/.test(row))).toEqual([]);
  expect(claims.length).toBeGreaterThan(20);
});

test.each(claims)('$file contains the test: $title', async ({ file, title }) => {
  expect(await readFile(file, 'utf8')).toContain(title);
});
