import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { nodeProblem, OLDEST_NODE } from '../../../src/cli/oldest-node.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

test.each(['v22.19.0', 'v22.23.3', 'v24.0.0', 'v26.10.0'])('%s runs the program', (version) => {
  expect(nodeProblem(version)).toBeUndefined();
});

test.each(['v20.20.2', 'v22.18.9', 'v18.0.0'])('%s does not, and the message says which does', (version) => {
  expect(nodeProblem(version)).toBe(
    `expected Node.js 22.19 or newer, got ${version}: install a newer one (https://nodejs.org)`,
  );
});

test('package.json names the same version', () => {
  const { engines } = JSON.parse(readFileSync(join(projectDirectory(), 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  expect(engines.node).toBe(`>=${OLDEST_NODE}`);
});
