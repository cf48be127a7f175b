import { expect, test } from '@jest/globals';
import { missingSpec } from '../../../../src/addons/manifests/cli/inject.ts';
import { podSites } from '../../../../src/injection/podspec/workload.ts';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE, OPT_IN } from '../../../support/injection/demo.ts';

const pod = (name: string, value: string) =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, labels: {${OPT_IN}: "${value}"}}\nspec: {containers: [{name: app, image: app}]}\n`;

const FILES = {
  'good.yaml': pod('good', 'true'),
  'out.yaml': pod('out', 'false'),
  'mistyped.yaml': pod('mistyped', 'ture'),
  'broken.yaml': 'a: [\n',
  'odd.yaml': `apiVersion: v1\nkind: Pod\nmetadata: {labels: {${OPT_IN}: "true"}, annotations: [1]}\nspec: {containers: [{name: app}]}\n`,
  'empty.yaml': '# nothing\n',
  'text.yaml': 'just text\n',
  'binary.yaml': 'a\0b',
  'values.yaml': 'image: app\n',
  'gang.yaml': `apiVersion: batch.example.com/v1\nkind: Gang\nmetadata: {name: a}\nspec: {template: ${JSON.stringify(
    { metadata: { labels: { [OPT_IN]: 'true' } }, spec: { containers: [{ name: 'app', image: 'app' }] } },
  )}}\n`,
  'no-spec.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n',
  'garbage.yaml': `apiVersion: v1\nkind: Pod\nmetadata: {name: odd, annotations: {${OPT_IN}-status: "{"}}\nspec: {}\n`,
  'loud.yaml': pod('loud', 'true').replace('}}\n', `}, annotations: {${OPT_IN}-cpu-limit: many}}\n`),
  'template.yaml': DEMO_TEMPLATE,
  'broken-template.yaml': 'containers: 5\n',
};

async function run(...args: readonly string[]) {
  const terminal = new MemoryTerminal(FILES);
  const code = await runCli(['node', 'envoy-initializer', ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test.each<[string, number, readonly string[]]>([
  ['returns 0 when each pod gets what it asks for', 0, ['-f', 'good.yaml', '-f', 'out.yaml']],
  ['returns 1 when a pod does not', 1, ['-f', 'good.yaml', '-f', 'mistyped.yaml']],
  ['returns 2 when a file is not YAML', 2, ['-f', 'good.yaml', '-f', 'broken.yaml']],
  ['returns 2 when a pod is malformed', 2, ['-f', 'odd.yaml']],
  ['returns 2 when a file does not exist', 2, ['-f', 'gone.yaml']],
  ['returns 2 without a file', 2, []],
  ['returns 2 for an unknown flag', 2, ['-f', 'good.yaml', '--al']],
  ['returns 2 for an invalid path', 2, ['-f', 'good.yaml', '--pod-template-path', 'Rollout']],
])('inject %s', async (_, code, args) => {
  const result = await run('inject', '--template', 'template.yaml', ...args);
  expect(result.code).toBe(code);
  if (code === 2) expect(result.stdout).toBe('');
});

test.each([
  [
    'a kubeconfig',
    ['--kubeconfig', '/nowhere/config'],
    /no usable kubeconfig: .*, or use --template FILE\n$/,
  ],
  [
    'an API server',
    ['--master', 'https://127.0.0.1:1'],
    /cannot reach the API server: .*, or use --template FILE\n$/,
  ],
])('inject says how to do without %s', async (_, args, message) => {
  const result = await run('inject', '-f', 'good.yaml', ...args);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toMatch(message);
});

test('inject injects an unknown kind with the flag that the note names', async () => {
  const path = 'Gang.batch.example.com=spec.template';
  const args = ['--template', 'template.yaml', '-f', 'gang.yaml', '--pod-template-path', path];
  expect(await run('inject', ...args)).toMatchObject({ code: 0, stderr: 'gang/a: injected\n' });
});

test.each([
  ['empty.yaml', 2, 'error: empty.yaml contains no Kubernetes object\n'],
  ['values.yaml', 2, 'error: values.yaml contains no Kubernetes object: kind is missing\n'],
  [
    'gang.yaml',
    0,
    'gang/a: note: Gang.batch.example.com is an unknown kind, so its pod template is unchanged: use --pod-template-path Gang.batch.example.com=spec.template\n',
  ],
  ['text.yaml', 2, 'error: text.yaml: expected a Kubernetes object, not text\n'],
  ['binary.yaml', 2, 'error: binary.yaml is a binary file: use YAML or JSON\n'],
  ['no-spec.yaml', 1, 'deployment/web: not injected: spec.template.spec is missing\n'],
  [
    'loud.yaml',
    1,
    `pod/loud: injected\npod/loud: warning: invalid-override: annotation ${OPT_IN}-cpu-limit is "many": write a quantity such as 500m\n`,
  ],
])('inject says what is wrong with %s', async (file, code, stderr) => {
  expect(await run('inject', '--template', 'template.yaml', '-f', file)).toMatchObject({ code, stderr });
});

test('inject prints the fault of a template', async () => {
  const { code, stderr } = await run('inject', '--template', 'broken-template.yaml', '-f', 'good.yaml');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'error: broken-template.yaml:1:1: template "config": containers: must be a list, not 5\n',
  });
});

test('uninject says that a status cannot be read', async () => {
  const { code, stdout, stderr } = await run('uninject', '-f', 'garbage.yaml');
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: FILES['garbage.yaml'],
    stderr: `pod/odd: not changed: annotation ${OPT_IN}-status cannot be read: recreate the object from its source\n`,
  });
});

test('missingSpec names the missing spec, also of a workload in a List', () => {
  const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } };
  const [alone] = podSites(web);
  const [listed] = podSites({ apiVersion: 'v1', kind: 'List', items: [{}, web] });
  const [pod] = podSites({ apiVersion: 'v1', kind: 'Pod' });
  const [whole] = podSites({ apiVersion: 'v1', kind: 'Pod', spec: {} });
  expect([alone, listed, pod, whole].map((site) => site && missingSpec(site))).toEqual([
    'spec.template.spec',
    'spec.template.spec',
    'spec',
    undefined,
  ]);
});
