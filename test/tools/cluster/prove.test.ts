import { describe, expect, test } from '@jest/globals';
import { runCommand } from '../../env/control-plane/run-command.ts';

/** What `make e2e` or `make e2e-kind` asks first, where the user is not root. */
function askAsNobody(env: Readonly<Record<string, string>>, of: 'cluster' | 'kind' = 'cluster') {
  const { PATH = '' } = process.env;
  const ask = [process.execPath, `test/env/${of}/cli.ts`, 'prove'];
  const [command = '', ...args] =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...ask] : ask;
  return runCommand(command, args, { PATH, ...env }, '');
}

describe('make e2e, where there can be no node', () => {
  test('is told why in a line, says so loudly, and does not fail', async () => {
    const { code, stdout, stderr } = await askAsNobody({});
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^a node needs .+\n$/) });
    expect(stderr).toContain(`NO TESTS ON A REAL NODE, since there can be none here:\n${stdout}!!!`);
  });

  test('fails where E2E_REQUIRED says that there must be one', async () => {
    expect((await askAsNobody({ E2E_REQUIRED: '1' })).code).toBe(1);
  });
});

test('make e2e-kind is told the same of a cluster of kind', async () => {
  const { code, stdout, stderr } = await askAsNobody({}, 'kind');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^a node needs .+\n$/) });
  expect(stderr).toContain(`NO CLUSTER OF KIND, since there can be none here:\n${stdout}!!!`);
  expect((await askAsNobody({ E2E_REQUIRED: '1' }, 'kind')).code).toBe(1);
});
