import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { runCli } from '../../src/commands/cli.ts';
import { isArray, isObject, type JsonValue } from '../../src/inject/json.ts';
import { readManifests } from '../../src/manifests/manifests.ts';
import { MemoryTerminal } from '../support/memory-terminal.ts';

/**
 * Every folder of test/golden is a case: `input.yaml`, which may be JSON, through `inject` with `template.yaml` and
 * what `args` adds must be exactly `expected.yaml`, and say `expected.stderr`. UPDATE_GOLDEN=1 writes these two.
 */
const GOLDEN = join(projectDirectory(), 'test/golden');
/** Whose text is not given back to the byte: what was empty, aliased, or moved, is written otherwise. */
const REPRINTED: ReadonlySet<string> = new Set([
  'anchored-document',
  'anchors',
  'list',
  'overlay',
  'rich-template',
]);
const update = process.env.UPDATE_GOLDEN === '1';
const cases = (await readdir(GOLDEN)).sort();

async function run(command: string, directory: string, args: readonly string[], input: string) {
  const terminal = new MemoryTerminal({ 'input.yaml': input });
  terminal.files.set('template.yaml', await readFile(join(directory, 'template.yaml'), 'utf8'));
  const template = command === 'inject' ? ['--template', 'template.yaml'] : [];
  const argv = ['node', 'envoy-initializer', command, '-f', 'input.yaml', ...template, ...args];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: `${terminal.stderr}exit code ${code}\n` };
}

describe.each(cases)('%s', (name) => {
  const directory = join(GOLDEN, name);

  test('comes out as expected', async () => {
    const files = new Set(await readdir(directory));
    const read = async (file: string) =>
      files.delete(file) ? await readFile(join(directory, file), 'utf8') : '';
    const input = await read('input.yaml');
    const args = (await read('args')).split(/\s+/).filter((arg) => arg !== '');
    await read('template.yaml');
    const { code, stdout, stderr } = await run('inject', directory, args, input);
    if (update) {
      await writeFile(join(directory, 'expected.yaml'), stdout);
      await writeFile(join(directory, 'expected.stderr'), stderr);
      files.delete('expected.yaml');
      files.delete('expected.stderr');
    } else {
      expect(stderr).toBe(await read('expected.stderr'));
      expect(stdout).toBe(await read('expected.yaml'));
    }
    // What no test reads proves nothing.
    expect([...files]).toEqual([]);
    if (code === 2) return;
    expect((await run('inject', directory, args, stdout)).stdout).toBe(stdout);
    const back = await run(
      'uninject',
      directory,
      args.filter((arg) => arg !== '--all'),
      stdout,
    );
    const objects = (text: string) => readManifests(text).map(withoutBlanks);
    expect(objects(back.stdout)).toEqual(objects(input));
    if (!REPRINTED.has(name)) expect(back.stdout).toBe(input);
  });
});

/** To Kubernetes an empty list or map is the same as none. */
function withoutBlanks(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(withoutBlanks);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, withoutBlanks(item)] as const)
      .filter(([, item]) => item !== null && !(typeof item === 'object' && Object.keys(item).length === 0)),
  );
}

test('there are cases', () => {
  expect(cases.length).toBeGreaterThan(15);
});
