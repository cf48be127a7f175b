import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const rows = readFileSync('test/conformance/informer.md', 'utf8')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, name, file]) => name?.startsWith('Test') && file?.endsWith('.test.ts'));

test.each(rows.map(([, name, file, title]) => ({ name, file, title })))(
  'test/conformance/informer.md names an existing test for $name',
  ({ file, title }) => {
    // A title with an apostrophe is in double quotes.
    const source = readFileSync(`test/unit/kube/${file}`, 'utf8').replaceAll('"', "'");
    expect(source).toContain(`'${title}'`);
  },
);
