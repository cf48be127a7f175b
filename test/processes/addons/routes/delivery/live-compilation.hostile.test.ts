import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../../env/control-plane/project-directory.ts';

/** The manifest's limit is 512 MiB for all of the process. */
const HEAP_MIB = 160;

test('500 routes with all that the API server allows are left out, by name, in a process of little memory', async () => {
  const program = join(projectDirectory(), 'build/test/support/routing/hostile-routes.js');
  const flags = [`--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=8'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program]);
  expect(JSON.parse(stdout)).toEqual({ leftOut: 500, hosts: ['honest/web'] });
});
