import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readInputs } from '../../../../src/cli/io/input-files.ts';
import { processTerminal } from '../../../../src/cli/io/terminal.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-inputs-'));
  for (const name of ['empty', 'all/b', 'all/b.d/c']) await mkdir(join(directory, name), { recursive: true });
  const files = [
    'all/z.yaml',
    'all/b/a.yml',
    'all/b.json',
    'all/notes.txt',
    'all/b.d/c/d.yaml',
    'empty/README.md',
  ];
  for (const file of files) await writeFile(join(directory, file), `# ${file}\n`);
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

const at = (name: string) => join(directory, name);

describe('-f', () => {
  const names = async (recursive: boolean, ...filename: readonly string[]) => {
    const inputs = await readInputs(processTerminal, { filename: filename.map(at), recursive });
    return inputs.map(({ text }) => text.slice(2, -1));
  };

  test('reads the manifests of a directory by name, and any file', async () => {
    expect(await names(false, 'all', 'all/notes.txt')).toEqual(['all/b.json', 'all/z.yaml', 'all/notes.txt']);
  });

  test('reads the directories inside with -R, in the order of kubectl', async () => {
    expect(await names(true, 'all')).toEqual(['all/b/a.yml', 'all/b.d/c/d.yaml', 'all/b.json', 'all/z.yaml']);
  });

  test('refuses a directory without manifests, and a file that does not exist', async () => {
    await expect(names(false, 'empty')).rejects.toThrow(/empty has no file \.json, \.yaml, \.yml/);
    await expect(names(false, 'gone')).rejects.toThrow(/cannot read .*gone/);
  });
});

describe('-k', () => {
  test('cannot be used with -f or -R', async () => {
    for (const others of [{ filename: ['a'] }, { recursive: true }]) {
      const reading = readInputs(processTerminal, { kustomize: 'x', ...others });
      await expect(reading).rejects.toThrow('-k cannot be used with -f or -R: use one of them');
    }
  });
});
