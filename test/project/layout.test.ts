import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectDirectory } from '../env/control-plane/project-directory.ts';

const MOST_ROOMS = 15;
const MOST_FILES = 24;

/** The files below a folder of the project, as paths from it. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(projectDirectory(), folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(projectDirectory(), folder).length + 1));
}

const sources = filesBelow('src');

test.each(['unit', 'properties', 'processes'])(
  'each test of test/%s has the path of its source, and may add an aspect to its name',
  (kind) => {
    const sourceOf = (path: string) => join(dirname(path), `${basename(path).split('.')[0]}.ts`);
    const strays = filesBelow(`test/${kind}`).filter(
      (path) => path.endsWith('.test.ts') && !sources.includes(sourceOf(path)),
    );
    expect(strays).toEqual([]);
  },
);

describe('src', () => {
  test(`has at most ${MOST_ROOMS} rooms`, () => {
    const rooms = new Set(sources.filter((path) => path.includes('/')).map((path) => path.split('/')[0]));
    expect(rooms.size).toBeLessThanOrEqual(MOST_ROOMS);
  });
});

test.each(['src', 'test/integration', 'test/support'])(
  `%s has at most ${MOST_FILES} files in a folder`,
  (root) => {
    const files = filesBelow(root);
    const folders = [...new Set(files.map((path) => dirname(path)))];
    const filesIn = (folder: string) => files.filter((path) => dirname(path) === folder).length;
    const crowded = folders.filter((folder) => filesIn(folder) > MOST_FILES);
    expect(crowded).toEqual([]);
  },
);
