import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { optionsOf } from '../../support/cli/command-options.ts';
import { commandsOf, documents } from '../../support/jest/markdown.ts';

const all = documents().flatMap(({ path, text }) =>
  commandsOf(text).map(({ command }) => ({ path, command })),
);
const targets = [
  ...readFileSync(join(projectDirectory(), 'Makefile'), 'utf8').matchAll(/^([a-z0-9-]+):/gm),
].map(([, target = '']) => target);

/** The commands of a line, each with its words. A quoted text is one word. */
function pipeline(line: string): readonly (readonly string[])[] {
  const quiet = line.replaceAll(/'[^']*'|"[^"]*"/g, 'quoted').replaceAll(/\$\([^)]*\)/g, 'substituted');
  return quiet.split(/\s*(?:\|\||\||&&|;|>)\s*/).map((each) => each.split(/\s+/).filter(Boolean));
}

const calls = (program: string) =>
  all.flatMap(({ path, command }) =>
    pipeline(command).flatMap((words) => {
      const at = words.indexOf(program);
      const before = words.slice(0, Math.max(at, 0));
      // Environment variables and sudo may come first.
      return at < 0 || !before.every((word) => /=|^sudo$/.test(word))
        ? []
        : [{ path, words: words.slice(at + 1) }];
    }),
  );

test('the documents contain commands', () => {
  for (const program of ['make', 'kubectl', 'envoy-initializer']) {
    expect(calls(program).length).toBeGreaterThan(5);
  }
});

test('every make target in a document exists', () => {
  const named = calls('make').flatMap(({ words }) => words.filter((word) => /^[a-z0-9-]+$/.test(word)));
  expect(named.filter((name) => !targets.includes(name))).toEqual([]);
});

test('make help lists every target, without colors in a pipe', async () => {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm' };
  const { stdout } = await runCommand('make', ['--directory', projectDirectory(), 'help'], env, '');
  const listed = [...stdout.matchAll(/^ {2}([a-z0-9-]+) +[A-Z]/gm)].map(([, target]) => target);
  expect(listed.toSorted()).toEqual(targets.toSorted());
  expect(stdout).not.toContain('\u001b');
});

test('every envoy-initializer command in a document exists, with its flags', () => {
  const unknown = calls('envoy-initializer').flatMap(({ path, words: [command = '', ...words] }) => {
    const options = optionsOf(command);
    if (!options) return [`${path}: ${command}`];
    const flags = words
      .filter((word) => /^-{1,2}[a-zA-Z]/.test(word))
      .map((word) => word.split('=')[0] ?? '');
    return flags.filter((flag) => !options.includes(flag)).map((flag) => `${path}: ${command} ${flag}`);
  });
  expect(unknown).toEqual([]);
});

test('every project file in a command exists', () => {
  const files = all.flatMap(({ path, command }) =>
    pipeline(command)
      .flat()
      .map((word) => word.replace(/^.*=/, ''))
      // But kubectl's deploy/NAME is not a file.
      .filter((word) => /^((crd|docs|hack|src|test)\/[\w./-]+|deploy\/[\w./-]+[./][\w.-]+)$/.test(word))
      .map((file) => ({ path, file })),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter(({ file }) => !existsSync(join(projectDirectory(), file)))).toEqual([]);
});
