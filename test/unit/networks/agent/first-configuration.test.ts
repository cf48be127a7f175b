import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { withoutMultus } from '../../../../src/networks/agent/missing-interfaces.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cni-configurations-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const list = (...types: readonly string[]) =>
  JSON.stringify({ name: 'net', plugins: types.map((type) => ({ type })) });
const one = (type: string) => JSON.stringify({ name: 'net', type });

test.each([
  ['Multus, thin', { '00-multus.conf': one('multus'), '10-kindnet.conflist': list('ptp') }],
  ['Multus, thick', { '00-multus.conf': one('multus-shim') }],
  ['Multus in a list', { '05-multus.conflist': list('multus', 'tuning') }],
  ['a file that cannot be read', { '00-a.conf': '{' }],
])('does not say that the first is another one: %s', async (_, files) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  expect(await withoutMultus(directory)).toBeUndefined();
});

test.each([
  [{ '10-kindnet.conflist': list('ptp', 'portmap') }, '10-kindnet.conflist (ptp, portmap)'],
  [
    { '05-cilium.conflist': list('cilium-cni'), '10-multus.conf': one('multus') },
    '05-cilium.conflist (cilium',
  ],
  [{ 'a.json': one('bridge'), 'z.conf': one('multus') }, 'a.json (bridge)'],
])('names the first of %j', async (files, told) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  expect(await withoutMultus(directory)).toContain(`its first CNI configuration is ${told}`);
});
