import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const dockerfiles = globSync('{Dockerfile,deploy/**/Dockerfile}', { cwd: projectDirectory() }).toSorted();

test('finds Dockerfiles', () => {
  expect(dockerfiles).toEqual(['Dockerfile', 'deploy/transparent/Dockerfile']);
});

test.each(dockerfiles)('%s names its base by tag and digest', (file) => {
  const text = readFileSync(join(projectDirectory(), file), 'utf8');
  expect(text.match(/^ARG BASE=\S+:[\w.-]+@sha256:[0-9a-f]{64}$/m)).not.toBeNull();
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(bases.filter((base) => !/^(\$\{BASE\}|scratch)$/.test(base ?? ''))).toEqual([]);
});
