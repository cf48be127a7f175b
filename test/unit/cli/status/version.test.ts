import { expect, test } from '@jest/globals';
import { VERSION } from '../../../../src/kube/util/version.ts';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

async function version(...args: readonly string[]) {
  const terminal = new MemoryTerminal({});
  const code = await runCli(['node', 'envoy-initializer', 'version', ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test.each([
  ['is nobody at its address', ['--master=https://127.0.0.1:1']],
  ['is no kubeconfig', ['--kubeconfig=/none']],
])('where there %s, the version of the client is printed, and the rest is an error', async (_, args) => {
  expect(await version(...args)).toEqual({
    code: 1,
    stdout: `client: ${VERSION}\n`,
    stderr: expect.stringMatching(/^error: .*\n$/),
  });
  const { code, stdout } = await version(...args, '--output=json');
  expect({ code, printed: JSON.parse(stdout) }).toEqual({ code: 1, printed: { client: VERSION } });
});

test('with --client no cluster is asked', async () => {
  const printed = { code: 0, stdout: `client: ${VERSION}\n`, stderr: '' };
  expect(await version('--client', '--kubeconfig=/none')).toEqual(printed);
});
