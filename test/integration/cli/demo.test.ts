import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

test.each<[string, readonly string[]]>([
  ['as it comes', []],
  // By default: 1.31, and 1.33.
  ['that does not stream lists (KEP-3157)', ['--api-server-arg=--feature-gates=WatchList=false']],
])(
  'make run ONCE=1 plays the demo, and every claim holds, on an API server %s',
  async (_, args) => {
    const demo = spawn(process.execPath, [join(projectDirectory(), 'hack/run.ts'), '--once', ...args], {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(demo.stdout), once(demo, 'close')]);
    const broken = output.split('\n').filter((line) => line.includes('✗'));
    expect({ code, broken }).toEqual({ code: 0, broken: [] });
    expect(output).toMatch(/(\d+) of \1 claims hold/);
  },
  300_000,
);
