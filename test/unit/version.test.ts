import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { VERSION } from '../../src/version.ts';

test.each([
  ['package.json', `"version": "${VERSION}"`],
  ['Dockerfile', `image.version="${VERSION}"`],
  ['deploy/base/deployment.yaml', `image: envoy-initializer:${VERSION}\n`],
  ['Makefile', `IMAGE ?= envoy-initializer:${VERSION}\n`],
])('%s has the version of the code', (file, expected) => {
  expect(readFileSync(join(projectDirectory(), file), 'utf8')).toContain(expected);
});
