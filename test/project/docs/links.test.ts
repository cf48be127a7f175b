import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { anchors, documents, prose } from '../../support/jest/markdown.ts';

test.each(documents())('every link of $path has a target', ({ path, text }) => {
  const links = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const dead = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : normalize(join(dirname(path), file));
    const where = join(projectDirectory(), target);
    if (!existsSync(where)) return true;
    return anchor !== undefined && !anchors(readFileSync(where, 'utf8')).includes(anchor);
  });
  expect(dead).toEqual([]);
});

// GitHub ends a cell at each pipe without a backslash, also inside of code.
test.each(documents())('every table of $path has as many cells in each row as in its heading', ({ text }) => {
  const wrong: string[] = [];
  let columns: number | undefined;
  for (const line of prose(text).split('\n')) {
    const cells = line.startsWith('|') ? line.split(/(?<!\\)\|/).length : undefined;
    if (cells !== undefined && columns !== undefined && cells !== columns) wrong.push(line);
    columns = cells === undefined ? undefined : (columns ?? cells);
  }
  expect(wrong).toEqual([]);
});

const sources = globSync('{src,deploy,hack}/**/*.{ts,yaml}', { cwd: projectDirectory() });

test('every page, anchor and heading that the code, manifests and messages name exists', () => {
  const dead = sources.flatMap((source) => {
    const text = readFileSync(join(projectDirectory(), source), 'utf8');
    const named = text.matchAll(/(?:"([^"\n]+)" in )?\b(docs\/[\w-]+\.md)(?:#([\w-]+))?/g);
    return [...named].flatMap(([all, heading, file = '', anchor]) => {
      const page = documents().find(({ path }) => path === file)?.text;
      const hasHeading = heading === undefined || page?.includes(`# ${heading}\n`);
      const isThere =
        page !== undefined && hasHeading && (anchor === undefined || anchors(page).includes(anchor));
      return isThere ? [] : [`${source}: ${all}`];
    });
  });
  expect(sources.length).toBeGreaterThan(100);
  expect(dead).toEqual([]);
});
