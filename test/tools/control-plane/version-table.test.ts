import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { chosenKubernetes } from '../../env/control-plane/kubernetes.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { TABLE } from '../../versions/table.ts';

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
