import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { ReportParts, tarOf } from '../../../../src/cli/bug-report/report-parts.ts';

/** What the system's tar makes of an archive. */
const tar = (archive: Buffer, ...args: readonly string[]) =>
  execFileSync('tar', [...args], { input: archive, maxBuffer: 1e8 }).toString();

test('tar reads the files, also those of a length of whole blocks, and of more bytes than characters', () => {
  const files = ['', 'x', 'y'.repeat(512), 'ü'.repeat(300)].map((content, i) => ({
    path: `a/b/${i}.txt`,
    content,
  }));
  const archive = tarOf(files, 1_700_000_000);
  expect(tar(archive, '-t').trim().split('\n')).toEqual(files.map(({ path }) => path));
  for (const { path, content } of files) expect(tar(archive, '-xO', path)).toBe(content);
  expect(tar(archive, '-tv', '--utc')).toMatch(/^-rw------- .* 2023-11-14 22:13 a\/b\/0.txt$/m);
});

test('a path that does not fit is an error', () => {
  expect(() => tarOf([{ path: 'x'.repeat(101), content: '' }], 0)).toThrow(RangeError);
});

test('a report is bounded, says what it left out, and shortens long names at their start', () => {
  const parts = new ReportParts('report', 10);
  parts.add(`logs/${'p'.repeat(250)}-abcde.log`, '12345678');
  parts.add('large.txt', '123');
  parts.add('small.txt', '12');
  parts.note('events: you may not');
  const archive = parts.archive(0);
  const names = tar(archive, '-t').trim().split('\n');
  expect(names).toEqual([
    expect.stringMatching(/^report\/logs\/p{50}-abcde\.log$/),
    'report/small.txt',
    'report/missing.txt',
  ]);
  expect(tar(archive, '-xO', 'report/missing.txt')).toBe(
    'large.txt: left out, because the report has more than 10 bytes\nevents: you may not\n',
  );
});
