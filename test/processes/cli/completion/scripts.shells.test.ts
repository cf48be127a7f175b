import { chmod, glob, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { ensureDebianPackages } from '../../../env/debian-packages.ts';
import { TypedShell } from '../../../support/cli/typed-shell.ts';
import { describeUnless } from '../../../support/jest/describe-unless.ts';

const MAIN = join(projectDirectory(), 'build/src/main.js');
const PACKAGES = ['zsh', 'zsh-common', 'fish', 'fish-common', 'libpcre2-32-0'];
const CLEAR = '\u0015';

const found = await ensureDebianPackages('shells', PACKAGES, process.env, process.stderr).catch(
  (err: Error) => ({
    obstacle: `no zsh and fish: ${err.message.split('\n')[0]}`,
  }),
);

/** For each shell, how it starts with the prompt `ready>`, and how it reads the script of its completion. */
const SHELLS: Readonly<Record<string, readonly [start: string, load: string]>> = {
  bash: ['bash --norc -i', 'source <(envoy-initializer completion bash)'],
  zsh: ['"$ROOT/bin/zsh" -d -i', 'source <(envoy-initializer completion zsh)'],
  fish: [
    // Its own functions are not in /usr/share/fish.
    `"$ROOT/usr/bin/fish" --no-config -C 'set -g fish_function_path $ROOT/usr/share/fish/functions; function fish_prompt; echo "ready> "; end'`,
    'envoy-initializer completion fish | source',
  ],
};
const ZSHRC = `module_path=("$ROOT"/usr/lib/*/zsh/*(/))
fpath=("$ROOT"/usr/share/zsh/functions/**/*(/))
PS1='ready> '
autoload -U compinit && compinit -u -D
`;

describeUnless(typeof found === 'string' ? undefined : found.obstacle, 'in an interactive shell', () => {
  const root = String(found);
  let directory: string;
  let libraries: string;

  beforeAll(async () => {
    const folders = [];
    for await (const folder of glob(join(root, 'usr/lib/*-linux-gnu'))) folders.push(folder);
    libraries = folders.join(':');
    directory = await mkdtemp(join(tmpdir(), 'shells-'));
    const program = join(directory, 'envoy-initializer');
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    await chmod(program, 0o755);
    await writeFile(join(directory, '.zshrc'), ZSHRC);
    await writeFile(join(directory, 'template-of-a-test.yaml'), '');
  });
  afterAll(() => rm(directory, { recursive: true }));

  test.each(Object.entries(SHELLS))('%s completes commands, values and files', async (_, [start, load]) => {
    const shell = new TypedShell(start, {
      PATH: `${directory}:/usr/bin:/bin`,
      HOME: directory,
      ZDOTDIR: directory,
      ROOT: root,
      LD_LIBRARY_PATH: libraries,
      PS1: 'ready> ',
      TERM: 'dumb',
    });
    try {
      await shell.type('', 'ready>');
      await shell.type(`${load}\n`, 'ready>');
      await shell.type('envoy-initializer unins\t', 'uninstall ');
      await shell.type(`${CLEAR}envoy-initializer drift --output=ya\t`, '--output=yaml');
      await shell.type(`${CLEAR}envoy-initializer lint ${directory}/templ\t`, 'template-of-a-test.yaml');
    } finally {
      shell.kill();
    }
  });
});
