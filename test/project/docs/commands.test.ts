import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { optionsOf } from '../../support/command-options.ts';
import { commandsOf, documents } from '../../support/markdown.ts';

const all = documents().flatMap(({ path, text }) =>
  commandsOf(text).map(({ command }) => ({ path, command })),
);
const targets = [...readFileSync(join(projectDirectory(), 'Makefile'), 'utf8').matchAll(/^([a-z-]+):/gm)].map(
  ([, target]) => target,
);

/** The commands of a line, each with its words; what quotes hold is one word, and nothing is looked at inside. */
function pipeline(line: string): readonly (readonly string[])[] {
  const quiet = line.replaceAll(/'[^']*'|"[^"]*"/g, 'quoted').replaceAll(/\$\([^)]*\)/g, 'substituted');
  return quiet.split(/\s*(?:\|\||\||&&|;|>)\s*/).map((each) => each.split(/\s+/).filter(Boolean));
}

const calls = (program: string) =>
  all.flatMap(({ path, command }) =>
    pipeline(command).flatMap((words) => {
      const at = words.indexOf(program);
      const before = words.slice(0, Math.max(at, 0));
      // Variables of the environment, and sudo.
      return at < 0 || !before.every((word) => /=|^sudo$/.test(word))
        ? []
        : [{ path, words: words.slice(at + 1) }];
    }),
  );

test('there are commands', () => {
  for (const program of ['make', 'kubectl', 'envoy-initializer']) {
    expect(calls(program).length).toBeGreaterThan(5);
  }
});

test('every target of make that a document names is there', () => {
  const named = calls('make').flatMap(({ words }) => words.filter((word) => /^[a-z-]+$/.test(word)));
  expect(named.filter((name) => !targets.includes(name))).toEqual([]);
});

test('every command of ours that a document names is there, with its flags', () => {
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

test('every file of the project that a command names is there', () => {
  const files = all.flatMap(({ path, command }) =>
    pipeline(command)
      .flat()
      .map((word) => word.replace(/^.*=/, ''))
      // And not kubectl's deploy/NAME.
      .filter((word) => /^((crd|docs|hack|src|test)\/[\w./-]+|deploy\/[\w./-]+[./][\w.-]+)$/.test(word))
      .map((file) => ({ path, file })),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter(({ file }) => !existsSync(join(projectDirectory(), file)))).toEqual([]);
});
