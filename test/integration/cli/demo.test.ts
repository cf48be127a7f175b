import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

test('make run ONCE=1 plays the demo, and every claim holds', async () => {
  const demo = spawn(process.execPath, [join(projectDirectory(), 'hack/run.ts'), '--once'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(demo.stdout), once(demo, 'close')]);
  const broken = output.split('\n').filter((line) => line.includes('✗'));
  expect({ code, broken }).toEqual({ code: 0, broken: [] });
  expect(output).toMatch(/(\d+) of \1 claims hold/);
}, 300_000);
