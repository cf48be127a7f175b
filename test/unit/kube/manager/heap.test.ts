import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { growthPercent } from '../../../../src/kube/manager/heap.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { NODE_FLAGS } from '../../../env/operator.ts';

const MIB = 2 ** 20;

test.each([
  [20 * MIB, 200],
  [40 * MIB, 100],
  [100 * MIB, 40],
  [1000 * MIB, 20],
])('a heap of %d bytes may grow by %d percent', (used, percent) => {
  expect(growthPercent(used)).toBe(percent);
});

test('tests and benchmarks run Node with the flags of the image', () => {
  const dockerfile = readFileSync(join(projectDirectory(), 'Dockerfile'), 'utf8');
  const [, entrypoint = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint)).toEqual(['/usr/local/bin/node', ...NODE_FLAGS, '/app/dist/main.js']);
});
