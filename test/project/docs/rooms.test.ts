import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const root = projectDirectory();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const rooms = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The texts in backticks that look like a file or folder. */
const pathsIn = (text: string) => [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path);

test('the tree of docs/architecture.md has exactly the rooms of src', () => {
  const tree = /^src\/\n([\s\S]*?)^```/m.exec(read('docs/architecture.md'))?.[1] ?? '';
  const named = [...tree.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(rooms.sort());
});

test.each(rooms)('src/%s/README.md names files that exist', (room) => {
  const paths = pathsIn(read(`src/${room}/README.md`));
  expect(paths.length).toBeGreaterThan(1);
  // Other rooms, folders of the project and files of this room.
  const missing = paths.filter((path) =>
    ['src', '', `src/${room}`].every((from) => !existsSync(join(root, from, path))),
  );
  expect(missing).toEqual([]);
});

test.each(['docs/architecture.md', 'docs/development.md'])('%s names files that exist', (document) => {
  const paths = pathsIn(read(document)).filter((path) => /^(src|test|hack|deploy|docs|crd)\//.test(path));
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
