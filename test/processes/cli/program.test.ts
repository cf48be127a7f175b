import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

let directory: string;
const run = (args: readonly string[]) =>
  runCommand(process.execPath, args, { PATH: process.env.PATH ?? '' }, '');

beforeAll(async () => {
  // Where there are no packages, as in the image.
  directory = await mkdtemp(join(tmpdir(), 'bundle-'));
  const { code, stderr } = await run([join(projectDirectory(), 'hack/bundle/program.ts'), directory]);
  expect([code, stderr]).toEqual([0, '']);
});

afterAll(() => rm(directory, { recursive: true }));

test('the bundle of the program runs, with the modules of each command', async () => {
  for (const command of ['serve', 'node-agent', 'lint', 'drift']) {
    const { code, stdout } = await run([join(directory, 'main.js'), command, '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: envoy-initializer ${command}`)]);
  }
});

test('a stack trace of the program names functions, files and lines, where Node has source maps', async () => {
  const args = [join(directory, 'main.js'), 'lint', '/does/not/exist.yaml'];
  const trap = `data:text/javascript,${encodeURIComponent(
    "process.stderr.write = (text) => { console.log(new Error('here').stack); process.exit(0) }",
  )}`;
  const plain = await run(['--import', trap, ...args]);
  expect(plain.stdout).toMatch(/at runProgram .*program\/program-\w+\.js:\d+/);
  const mapped = await run(['--enable-source-maps', '--import', trap, ...args]);
  expect(mapped.stdout).toMatch(/at runProgram .*src\/cli\/program\.ts:\d+/);
});

const MAIN = join(projectDirectory(), 'build/src/main.js');

interface Modules {
  readonly ours: string[];
  readonly packages: Set<string>;
}

/** Runs the program with these arguments: the modules of ours and of packages that it loads. */
async function modulesOf(...args: readonly string[]): Promise<Modules> {
  const script = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    process.on('exit', () => console.error(JSON.stringify(urls)));
    process.argv.splice(1, 0, 'main.js');
    await import(${JSON.stringify(pathToFileURL(MAIN).href)});
  `;
  const { code, stderr } = await runCommand(
    process.execPath,
    ['--input-type=module', '--eval', script, '--', ...args],
    { PATH: process.env.PATH ?? '' },
    '',
  );
  expect(code).toBe(0);
  const urls = JSON.parse(stderr) as string[];
  return {
    ours: urls.flatMap((url) => url.split('/build/src/')[1] ?? []),
    packages: new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])),
  };
}

test.each(['--version', '--help'])(
  '%s loads no command, and of all packages only commander and ipaddr.js',
  async (flag) => {
    const { ours, packages } = await modulesOf(flag);
    expect(ours).toContain('cli/program.js');
    const features =
      /^(operator|certificates|injection\/(?!podspec\/names)|networks\/(?!ranges\/cidr)|addons\/\w+\/(?!addon\.js))/;
    expect(ours.filter((file) => features.test(file))).toEqual([]);
    // The flags of add-ons read addresses.
    expect([...packages].sort()).toEqual(['commander', 'ipaddr.js']);
  },
);
