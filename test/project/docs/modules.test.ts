import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const root = projectDirectory();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const folders = (path: string) =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
const modules = folders('src');
const addOns = folders('src/addons').map((name) => `addons/${name}`);

/** The texts in backticks that look like a file or folder. */
const pathsIn = (text: string) => [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path);

test('the tree of docs/architecture.md has exactly the modules of src', () => {
  const tree = /^src\/\n([\s\S]*?)^```/m.exec(read('docs/architecture.md'))?.[1] ?? '';
  const named = [...tree.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(modules.sort());
});

test.each([...modules.filter((name) => name !== 'addons'), ...addOns])(
  'src/%s/README.md names files that exist',
  (name) => {
    const paths = pathsIn(read(`src/${name}/README.md`));
    expect(paths.length).toBeGreaterThan(1);
    // Other modules, folders of the project and files of this module.
    const missing = paths.filter((path) =>
      ['src', '', `src/${name}`].every((from) => !existsSync(join(root, from, path))),
    );
    expect(missing).toEqual([]);
  },
);

test.each(['docs/architecture.md', 'docs/development.md'])('%s names files that exist', (document) => {
  const paths = pathsIn(read(document)).filter((path) => /^(src|test|hack|deploy|docs|crd)\//.test(path));
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
