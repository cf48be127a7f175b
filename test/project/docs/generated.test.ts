import { expect, test } from '@jest/globals';
import { runCommand } from '../../env/control-plane/run-command.ts';

test('make generate has nothing to change in the documents', async () => {
  const result = await runCommand(process.execPath, ['hack/generate-docs.ts', '--check'], {}, '');
  expect(result).toEqual({ code: 0, stdout: '', stderr: '' });
});
