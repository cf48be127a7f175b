import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROVIDERS } from '../../../../src/networks/providers/index.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';

const read = (path: string) => readFileSync(join(projectDirectory(), path), 'utf8');

test('the providers are those of the CRD', () => {
  const [, choices = ''] = /\n +provider:\n(?:.*\n)*? +enum: \[(.*)\]/.exec(read('crd/networks.yaml')) ?? [];
  expect(PROVIDERS.map(({ name }) => name)).toEqual(choices.split(', '));
});

test.each(PROVIDERS.map((provider) => [provider.name, provider.reasons] as const))(
  'docs/troubleshooting.md has each reason of %s',
  (_, reasons) => {
    const rows = read('docs/troubleshooting.md');
    expect(reasons.filter((reason) => !rows.includes(`| \`${reason}\` |`))).toEqual([]);
  },
);
