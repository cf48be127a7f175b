import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../env/control-plane/project-directory.ts';

/** `make dev`, generators and tools run the sources as they are; the compiler accepts more than Node's own parser. */
test('Node runs each source without a compiler', () => {
  const files = globSync('{src,hack,test}/**/*.ts', { cwd: projectDirectory() });
  expect(files.length).toBeGreaterThan(500);
  const refused = files.filter((file) => {
    try {
      stripTypeScriptTypes(readFileSync(join(projectDirectory(), file), 'utf8'));
      return false;
    } catch {
      return true;
    }
  });
  expect(refused).toEqual([]);
});
