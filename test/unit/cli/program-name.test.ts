import { expect, test } from '@jest/globals';
import { programName } from '../../../src/cli/program-name.ts';

test.each([
  ['/usr/local/bin/kubectl-envoy', 'kubectl envoy'],
  ['/app/dist/main.js', 'envoy-initializer'],
  [undefined, 'envoy-initializer'],
])('a program that was started as %s is called %s', (path, name) => {
  expect(programName(path)).toBe(name);
});
