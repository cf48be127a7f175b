import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { fileProblem, readText, writeProblem } from '../../../../src/kube/util/file-problem.ts';

test.each([
  ['/nowhere/file', 'the file does not exist'],
  ['/', 'it is a directory: name the files in it'],
])('says why %s cannot be read', async (file, problem) => {
  expect(await readFile(file, 'utf8').catch(fileProblem)).toBe(problem);
});

test.each([
  ['/nowhere/file', 'its directory does not exist'],
  ['/', 'it exists already: write another name'],
])('says why the new file %s cannot be written', async (file, problem) => {
  expect(await writeFile(file, '', { flag: 'wx' }).catch(writeProblem)).toBe(problem);
});

test('says the message of another error', () => {
  expect(fileProblem(new Error('the disk is gone'))).toBe('the disk is gone');
});

test('readText names the file and the problem', async () => {
  await expect(readText('/nowhere/file')).rejects.toThrow(
    'cannot read /nowhere/file: the file does not exist',
  );
});
