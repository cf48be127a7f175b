import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';

const LINES = 300;

/** Code that logs, and then ends in some way. */
function logging(ending: string): readonly string[] {
  const module = join(projectDirectory(), 'build/src/kube/manager/logger.js');
  const code = `import { createLogger } from ${JSON.stringify(module)};
    const log = await createLogger('info', 'json');
    for (let line = 0; line < ${LINES}; line += 1) log.info({ line, filler: 'x'.repeat(100) }, 'logged');
    ${ending}`;
  return ['--input-type=module', '--eval', code];
}

/** The numbers of the lines that a process wrote which ended in this way. */
async function logged(ending: string): Promise<readonly number[]> {
  const stdout = await new Promise<string>((resolve) => {
    execFile(process.execPath, logging(ending), (_, out) => resolve(out));
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).line);
}

test.each([
  ['normally', ''],
  ['by process.exit', 'process.exit(3);'],
  ['by an exception', 'throw new Error("unexpected");'],
  ['by a rejection', 'await Promise.reject(new Error("unexpected"));'],
])('a process that ends %s has written every line of its log', async (_, ending) => {
  // A batch that a thread still writes may come after those that the end flushes.
  const lines = (await logged(ending)).toSorted((a, b) => a - b);
  expect(lines).toEqual(Array.from({ length: LINES }, (_, line) => line));
});

test('the log is written while the process runs', async () => {
  const child = spawn(
    process.execPath,
    logging('setTimeout(() => process.kill(process.pid, "SIGKILL"), 4_000);'),
  );
  try {
    let last: unknown;
    for await (const line of createInterface(child.stdout)) {
      last = JSON.parse(line).line;
      if (last === LINES - 1) break;
    }
    expect(last).toBe(LINES - 1);
  } finally {
    child.kill('SIGKILL');
  }
});
