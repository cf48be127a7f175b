import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { runCli } from '../../src/commands/cli.ts';
import { MemoryTerminal } from '../support/memory-terminal.ts';

/**
 * Every folder of test/golden is a case: `input.yaml` or `input.json` through `inject` with `template.yaml` and what
 * `args` adds must be exactly `expected.yaml` or `.json`, and say `expected.stderr`. UPDATE_GOLDEN=1 writes these two.
 */
const GOLDEN = join(projectDirectory(), 'test/golden');
const update = process.env.UPDATE_GOLDEN === '1';
const cases = (await readdir(GOLDEN)).sort();

async function run(
  command: string,
  directory: string,
  extension: string,
  args: readonly string[],
  input: string,
) {
  const terminal = new MemoryTerminal({ [`input.${extension}`]: input });
  terminal.files.set('template.yaml', await readFile(join(directory, 'template.yaml'), 'utf8'));
  const template = command === 'inject' ? ['--template', 'template.yaml'] : [];
  const argv = ['node', 'envoy-initializer', command, '-f', `input.${extension}`, ...template, ...args];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: `${terminal.stderr}exit code ${code}\n` };
}

describe.each(cases)('%s', (name) => {
  const directory = join(GOLDEN, name);

  test('comes out as expected', async () => {
    const files = new Set(await readdir(directory));
    const extension = files.has('input.json') ? 'json' : 'yaml';
    const read = async (file: string) =>
      files.delete(file) ? await readFile(join(directory, file), 'utf8') : '';
    const input = await read(`input.${extension}`);
    const args = (await read('args')).split(/\s+/).filter((arg) => arg !== '');
    await read('template.yaml');
    const { code, stdout, stderr } = await run('inject', directory, extension, args, input);
    if (update) {
      await writeFile(join(directory, `expected.${extension}`), stdout);
      await writeFile(join(directory, 'expected.stderr'), stderr);
      files.delete(`expected.${extension}`);
      files.delete('expected.stderr');
    } else {
      expect(stderr).toBe(await read('expected.stderr'));
      expect(stdout).toBe(await read(`expected.${extension}`));
    }
    // What no test reads proves nothing.
    expect([...files]).toEqual([]);
    if (code === 2) return;
    expect((await run('inject', directory, extension, args, stdout)).stdout).toBe(stdout);
  });
});

test('there are cases', () => {
  expect(cases.length).toBeGreaterThan(15);
});
