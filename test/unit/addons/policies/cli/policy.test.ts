import { expect, test } from '@jest/globals';
import { loadAll } from 'js-yaml';
import { runCli } from '../../../../../src/program.ts';
import { MemoryTerminal } from '../../../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE } from '../../../../support/injection/demo.ts';

async function policy(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const terminal = new MemoryTerminal(files);
  const code = await runCli(['node', 'envoy-initializer', 'policy', ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test('policy prints policies that kubectl can apply, and what they leave out', async () => {
  const { code, stdout, stderr } = await policy({ 't.yaml': DEMO_TEMPLATE }, '-f', 't.yaml');
  const objects = loadAll(stdout) as { kind: string; spec: { failurePolicy?: string } }[];
  expect(objects.map(({ kind, spec }) => [kind, spec.failurePolicy])).toEqual([
    ['MutatingAdmissionPolicy', 'Fail'],
    ['MutatingAdmissionPolicyBinding', undefined],
    ['MutatingAdmissionPolicy', 'Ignore'],
    ['MutatingAdmissionPolicyBinding', undefined],
    ['ValidatingAdmissionPolicy', 'Ignore'],
    ['ValidatingAdmissionPolicyBinding', undefined],
  ]);
  expect(stderr).toMatch(
    /^template "config": no policy injects pods in namespaces that enforce restricted pod security\n/,
  );
  expect(code).toBe(0);
  const json = await policy({ 't.yaml': DEMO_TEMPLATE }, '-f', 't.yaml', '-o', 'json');
  expect(JSON.parse(json.stdout)).toEqual({ apiVersion: 'v1', kind: 'List', items: objects });
});

test('policy follows the flags of the installation', async () => {
  const { stdout } = await policy(
    { 't.yaml': DEMO_TEMPLATE },
    ...['-f', 't.yaml', '--annotation=example.com/mesh', '--initializer-name=mesh.example.com'],
    '--require-annotation=false',
  );
  expect(stdout).not.toContain('initializer.kubernetes.io/envoy');
  expect([...stdout.matchAll(/^ {2}name: (.*)$/gm)].map(([, name]) => name)).toEqual([
    'mesh.example.com',
    'mesh.example.com',
    'namespace.mesh.example.com',
    'namespace.mesh.example.com',
    'all.mesh.example.com',
    'mesh.example.com',
    'mesh.example.com',
  ]);
});

test('policy returns 1 if no policy can express the template', async () => {
  const long = `{containers: [{name: a, image: i, workingDir: /${'x'.repeat(100_000)}}]}`;
  const { code, stdout, stderr } = await policy({ '-': long }, '-f', '-');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe('template "config": no policy injects it: it is too long for a policy\n');
});
