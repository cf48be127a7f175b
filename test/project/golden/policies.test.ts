import { expect, test } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';

/**
 * Templates as admission policies. `policy` with `input.yaml`, a ConfigMap or a template, and the arguments in `args`
 * prints exactly `expected.yaml`. On standard error it prints what it leaves to the webhook.
 */
const FAMILY = 'policies';
const cases = goldenCases(FAMILY);

test.each(cases)('%s', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const terminal = new MemoryTerminal({ 'input.yaml': await golden.read('input.yaml') });
  const args = (await golden.read('args')).split(/\s+/).filter((arg) => arg !== '');
  const code = await runCli(['node', 'envoy-initializer', 'policy', '-f', 'input.yaml', ...args], terminal);
  await golden.expect('expected.stderr', `${terminal.stderr}exit code ${code}\n`);
  // The policy that warns of wrong opt-ins is the same in all cases: deploy/base has it.
  const [policies = ''] = terminal.stdout.split(/^---\n(?=.*\n.*\nmetadata:\n {2}name: opt-in\.)/m);
  await golden.expect('expected.yaml', policies);
  await golden.done();
});

test('has cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(5);
});
