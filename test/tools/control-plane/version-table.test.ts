import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { chosenKubernetes } from '../../env/control-plane/kubernetes.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { TABLE, versionTable } from '../../versions/table.ts';

const title = 'pods get their sidecar';
const RESULTS = [
  { version: 'v1.31.0', title, holds: true },
  { version: 'v1.31.0', title: 'policies inject', holds: false },
  { version: 'v1.36.3', title, holds: true },
  { version: 'v1.36.3', title: 'policies inject', holds: true },
];

test('a new table has a row for what not every version has, and replaces the old one', () => {
  const text = (table: string) => `| overlay | what |\n|---|---|\n| a | yes |\n\n${table}\nMore.\n`;
  const before = text('| Kubernetes | 1.31.0 |\n|---|---|\n| old | no |\n');
  const table = `\
| Kubernetes | 1.31.0 | 1.36.3 |
|---|---|---|
| policies inject | no | yes |
| all else that was tried | yes | yes |
`;
  expect(before.replace(TABLE, versionTable(RESULTS))).toBe(text(table));
  expect(() => versionTable(RESULTS.slice(0, 3))).toThrow('no result for v1.36.3: policies inject');
});

test('docs/install.md has the table of the versions that are pinned', async () => {
  const text = await readFile(join(projectDirectory(), 'docs/install.md'), 'utf8');
  const [header = ''] = TABLE.exec(text)?.[0].split('\n') ?? [];
  const columns = header.match(/\d+\.\d+\.\d+/g) ?? [];
  expect(columns.length).toBeGreaterThan(1);
  for (const column of columns) {
    const { version } = chosenKubernetes({ KUBERNETES: column.split('.', 2).join('.') });
    expect(version).toBe(`v${column}`);
  }
});
