import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

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
