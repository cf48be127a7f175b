import { expect, test } from '@jest/globals';
import { VERSION } from '../../../../src/kube/util/version.ts';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

test.each([
  ['--kubeconfig', '/nowhere/config'],
  ['--master', 'https://127.0.0.1:1'],
])('version says its own before why it cannot ask the cluster: %s %s', async (...flags) => {
  const terminal = new MemoryTerminal();
  const code = await runCli(['node', 'envoy-initializer', 'version', ...flags], terminal);
  expect(code).toBe(2);
  expect(terminal.stdout).toBe(`client: ${VERSION}\n`);
  expect(terminal.stderr).toMatch(/^error: (no usable kubeconfig|cannot reach the API server)/);
});
