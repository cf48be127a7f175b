import { expect, test } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import { isArray, isObject, type JsonValue } from '../../../src/util/json.ts';
import { readManifests } from '../../../src/util/manifests/parse.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { GOLDEN_TEMPLATE, GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';

/**
 * Manifests through the command line: `input.yaml`, which may be JSON, through `inject` with `template.yaml` and the
 * arguments in `args` gives exactly `expected.yaml` and prints `expected.stderr`.
 */
const FAMILY = 'manifests';
/** Cases that `uninject` does not restore byte by byte: it prints empty, aliased and moved values differently. */
const REPRINTED: ReadonlySet<string> = new Set(['anchors', 'list', 'overlay', 'rich-template']);
const cases = goldenCases(FAMILY);

async function run(command: string, templates: string, args: readonly string[], input: string) {
  const terminal = new MemoryTerminal({ 'input.yaml': input, 'template.yaml': templates });
  const template = command === 'inject' ? ['--template', 'template.yaml'] : [];
  const argv = ['node', 'envoy-initializer', command, '-f', 'input.yaml', ...template, ...args];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: `${terminal.stderr}exit code ${code}\n` };
}

test.each(cases)('inject and uninject make of test/golden/manifests/%s what is expected', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const input = await golden.read('input.yaml');
  const templates = (await golden.read('template.yaml')) || GOLDEN_TEMPLATE;
  const args = (await golden.read('args')).split(/\s+/).filter((arg) => arg !== '');
  const { code, stdout, stderr } = await run('inject', templates, args, input);
  await golden.expect('expected.stderr', stderr);
  await golden.expect('expected.yaml', stdout);
  await golden.done();
  if (code === 2) return;
  expect((await run('inject', templates, args, stdout)).stdout).toBe(stdout);
  const back = await run(
    'uninject',
    templates,
    args.filter((arg) => arg !== '--all'),
    stdout,
  );
  const objects = (text: string) => readManifests(text).map(withoutBlanks);
  expect(objects(back.stdout)).toEqual(objects(input));
  if (!REPRINTED.has(name)) expect(back.stdout).toBe(input);
});

/** Kubernetes treats an empty list or map as absent. */
function withoutBlanks(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(withoutBlanks);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, withoutBlanks(item)] as const)
      .filter(([, item]) => item !== null && !(typeof item === 'object' && Object.keys(item).length === 0)),
  );
}

test('test/golden/manifests has cases', () => {
  expect(cases.length).toBeGreaterThan(15);
});
