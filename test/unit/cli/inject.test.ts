import { describe, expect, test } from '@jest/globals';
import { runCli } from '../../../src/cli/program.ts';
import { DEMO_TEMPLATE, OPT_IN } from '../../support/demo.ts';
import { MemoryTerminal } from '../../support/memory-terminal.ts';

const pod = (name: string, value: string) =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, labels: {${OPT_IN}: "${value}"}}\nspec: {containers: [{name: app, image: app}]}\n`;

const FILES = {
  'good.yaml': pod('good', 'true'),
  'out.yaml': pod('out', 'false'),
  'mistyped.yaml': pod('mistyped', 'ture'),
  'broken.yaml': 'a: [\n',
  'odd.yaml': `apiVersion: v1\nkind: Pod\nmetadata: {labels: {${OPT_IN}: "true"}, annotations: [1]}\nspec: {containers: [{name: app}]}\n`,
  'template.yaml': DEMO_TEMPLATE,
  'broken-template.yaml': 'containers: 5\n',
};

async function run(...args: readonly string[]) {
  const terminal = new MemoryTerminal(FILES);
  const code = await runCli(['node', 'envoy-initializer', ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

describe('inject', () => {
  test.each<[string, number, readonly string[]]>([
    ['returns 0 when each pod gets what it asks for', 0, ['-f', 'good.yaml', '-f', 'out.yaml']],
    ['returns 1 when a pod does not', 1, ['-f', 'good.yaml', '-f', 'mistyped.yaml']],
    ['returns 2 when a file is not YAML', 2, ['-f', 'good.yaml', '-f', 'broken.yaml']],
    ['returns 2 when a pod is malformed', 2, ['-f', 'odd.yaml']],
    ['returns 2 when a file does not exist', 2, ['-f', 'gone.yaml']],
    ['returns 2 without a file', 2, []],
    ['returns 2 for an unknown flag', 2, ['-f', 'good.yaml', '--al']],
    ['returns 2 for an invalid path', 2, ['-f', 'good.yaml', '--pod-template-path', 'Rollout']],
  ])('%s', async (_, code, args) => {
    const result = await run('inject', '--template', 'template.yaml', ...args);
    expect(result.code).toBe(code);
    if (code === 2) expect(result.stdout).toBe('');
  });

  test('prints several files as one stream', async () => {
    const { stdout } = await run('inject', '--template', 'template.yaml', '-f', 'out.yaml', '-f', 'out.yaml');
    expect(stdout).toBe(`${FILES['out.yaml']}---\n${FILES['out.yaml']}`);
  });

  test('prints the place of a syntax error', async () => {
    const { stderr } = await run('inject', '--template', 'template.yaml', '-f', 'broken.yaml');
    expect(stderr).toMatch(/^error: broken\.yaml:2:1: /);
  });

  test('prints the fault of a template', async () => {
    const { code, stderr } = await run('inject', '--template', 'broken-template.yaml', '-f', 'good.yaml');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: broken-template.yaml: config: line 1, column 1: containers: must be a list, not 5\n',
    });
  });
});

describe('uninject', () => {
  test('removes what inject added, and says so', async () => {
    const injected = await run('inject', '--template', 'template.yaml', '-f', 'good.yaml');
    const terminal = new MemoryTerminal({ 'injected.yaml': injected.stdout, ...FILES });
    const argv = ['node', 'envoy-initializer', 'uninject', '-f', 'injected.yaml', '-f', 'out.yaml'];
    expect(await runCli(argv, terminal)).toBe(0);
    expect(terminal.stdout).toBe(`${FILES['good.yaml']}---\n${FILES['out.yaml']}`);
    expect(terminal.stderr).toBe('pod/good: sidecar removed\npod/out: was not injected\n');
  });
});
