import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../env/control-plane/project-directory.ts';

const run = promisify(execFile);
const root = projectDirectory();
const names = (await readdir(join(root, 'src/addons'), { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Injects the pod of the demo, and prints the names of its containers. */
const INJECT = `
import { inject } from './build/src/injection/inject.js';
import { decideInput, demoPod } from './build/test/support/injection/demo.js';
console.log(inject(decideInput(demoPod())).pod.spec.containers.map(({ name }) => name).join());
`;

/** The sources without these add-ons, compiled. @throws with the compiler's messages */
async function compileWithout(directory: string, without: readonly string[]): Promise<void> {
  for (const path of ['src', 'test/support/injection/demo.ts'])
    await cp(join(root, path), join(directory, path), { recursive: true });
  for (const name of ['package.json', 'tsconfig.json']) await cp(join(root, name), join(directory, name));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  const index = join(directory, 'src/addons/index.ts');
  const list = (await readFile(index, 'utf8')).split('\n').filter((line) => {
    return !without.some((name) => line.includes(`'./${name}/addon.ts'`));
  });
  const kept = names.filter((name) => !without.includes(name));
  const text = list.join('\n').replace(/\[[a-z, ]+\];/, `[${kept.join(', ')}];`);
  await writeFile(index, text);
  for (const name of without) await rm(join(directory, 'src/addons', name), { recursive: true });
  const tsc = join(root, 'node_modules/.bin/tsc');
  await run(tsc, ['--outDir', 'build'], { cwd: directory }).catch((error: { stdout?: string }) => {
    throw new Error(`without ${without}: ${error.stdout}`, { cause: error });
  });
}

test.each([...names.map((name) => [name, [name]] as const), ['all', names] as const])(
  'without the add-on %s, the rest compiles, has its commands, and injects the pod of the demo',
  async (_, without) => {
    const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-addons-'));
    try {
      await compileWithout(directory, without);
      const main = join(directory, 'build/src/main.js');
      const { stdout: help } = await run(process.execPath, [main, '--help']);
      for (const [name, command] of [
        ['manifests', 'inject'],
        ['rollout', 'rollout'],
        ['drift', 'drift'],
        ['policies', 'policy'],
      ] as const)
        expect(new RegExp(`^  ${command} `, 'm').test(help)).toBe(!without.includes(name));
      await writeFile(join(directory, 'inject.mjs'), INJECT);
      const { stdout } = await run(process.execPath, ['inject.mjs'], { cwd: directory });
      expect(stdout).toBe('myapp-container,envoy\n');
      const serve = await run(process.execPath, [main, 'serve', '--help']);
      expect(serve.stdout.includes('--repair-window')).toBe(!without.includes('drift'));
    } finally {
      await rm(directory, { recursive: true });
    }
  },
);
