import { expect, test } from '@jest/globals';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

const BAD = `\
# A ConfigMap with three faults.
apiVersion: v1
kind: ConfigMap
metadata: {name: envoy-initializer}
data:
  options: "onConflict: dney"
  config: |

      containers:
        - name: envoy
          image: x
          ports:
            - containerPort: "80"
  config.second: "containers: [{name: 1, image: x}]"
`;

async function lint(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const terminal = new MemoryTerminal(files);
  const code = await runCli(['node', 'envoy-initializer', 'lint', ...Object.keys(files), ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test('lint prints each fault of a ConfigMap with its place in the file', async () => {
  const { code, stdout, stderr } = await lint({ 'bad.yaml': BAD });
  expect(stdout.trim().split('\n').sort()).toEqual([
    'bad.yaml:13:15: template "config": containers[0].ports[0].containerPort: must be a whole number, not "80"',
    'bad.yaml:14:18: template "second": containers[0].name: must be a string: write "1" with quotes',
    'bad.yaml:6:12: options: onConflict: must be one of skip, deny: did you mean deny?',
  ]);
  expect(stderr).toBe('3 problems\n');
  expect(code).toBe(1);
});

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['a file that does not exist', {}, /^error: cannot read gone\.yaml: the file does not exist\n$/],
  [
    'a manifest without a template',
    { 'gone.yaml': 'apiVersion: v1\nkind: Secret\n' },
    /^error: gone\.yaml has no template/,
  ],
])('lint fails on %s', async (_, files, message) => {
  const terminal = new MemoryTerminal(files);
  expect(await runCli(['node', 'envoy-initializer', 'lint', 'gone.yaml'], terminal)).toBe(2);
  expect(terminal.stderr).toMatch(message);
  expect(terminal.stdout).toBe('');
});

test('lint prints what a policy leaves to the webhook', async () => {
  const long = `{containers: [{name: a, image: i, workingDir: /${'x'.repeat(100_000)}}]}`;
  const { stderr } = await lint({ 'long.yaml': long });
  expect(stderr.split('\n').slice(1)).toEqual([
    'policy: template "config": only the webhook injects it: it is too long for a policy',
    '',
  ]);
});

test('lint says that a configuration of Envoy needs --envoy', async () => {
  const { code, stderr } = await lint({ 'envoy.json': '{"static_resources": {}}' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "this looks like Envoy's own configuration: use --envoy\n1 problem\n",
  });
});
