import { expect, test } from '@jest/globals';
import { runCli } from '../../../src/commands/cli.ts';

/** Runs the command line as a user does; its exit code and what it printed on standard error. */
async function run(...args: readonly string[]) {
  let stderr = '';
  const terminal = {
    read: () => Promise.reject(new Error('nothing is read')),
    out: () => {},
    err: (text: string) => {
      stderr += text;
    },
  };
  return { code: await runCli(['node', 'envoy-initializer', ...args], terminal), stderr };
}

test.each([
  [['serve', '--port=x'], /'--port <port>' argument 'x' is invalid\. Write a port/],
  [['serve', '--prot=1'], /unknown option '--prot=1'/],
  [['serve', 'more'], /too many arguments/],
  [['serve', '--tls-cert-file=a'], /--tls-cert-file and --tls-key-file go together/],
  [['serve', '--tls-key-file=a'], /--tls-cert-file and --tls-key-file go together/],
  [['serve', '--kubeconfig=/nowhere/config'], /--kubeconfig: .*no such file.*\/nowhere\/config/],
  [['sevre'], /unknown command 'sevre'/],
])('%j ends with 2 and one line that says what to write', async (args, message) => {
  const { code, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('--version and --help end with 0', async () => {
  expect(await run('--version')).toEqual({ code: 0, stderr: '' });
  expect(await run('serve', '--help')).toEqual({ code: 0, stderr: '' });
});
