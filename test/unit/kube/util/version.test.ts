import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { VERSION } from '../../../../src/kube/util/version.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';

test.each([
  ['package.json', `"version": "${VERSION}"`],
  ['Dockerfile', `image.version="${VERSION}"`],
  ['deploy/base/deployment.yaml', `image: envoy-initializer:${VERSION}\n`],
  ['Makefile', `IMAGE ?= envoy-initializer:${VERSION}\n`],
])('%s has the version of the code', (file, expected) => {
  expect(readFileSync(join(projectDirectory(), file), 'utf8')).toContain(expected);
});
