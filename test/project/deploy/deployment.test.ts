import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { serveOption } from '../../../src/cli/options/serve-options.ts';

test('terminationGracePeriodSeconds is longer than a shutdown', async () => {
  const deployment = await readFile('deploy/base/deployment.yaml', 'utf8');
  const [, seconds] = /terminationGracePeriodSeconds: (\d+)/.exec(deployment) ?? [];
  expect(Number(seconds) * 1000).toBeGreaterThan(serveOption('shutdown-timeout').defaultValue);
});
