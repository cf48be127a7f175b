import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { FirstConfiguration } from '../../../../../src/networks/agent/cni/first-configuration.ts';

let directory: string;
const info = jest.fn();

/** The answer, after as many looks. */
async function withoutMultus(looks = 1): Promise<string | undefined> {
  const first = new FirstConfiguration({ directory, path: '/etc/cni/net.d', log: { info } });
  for (let i = 1; i < looks; i += 1) await first.withoutMultus();
  return first.withoutMultus();
}

beforeEach(async () => {
  info.mockClear();
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
  expect([await withoutMultus(), info.mock.calls]).toEqual([undefined, []]);
});

test.each([
  ['no configuration', { 'multus.d': '', '00-a.conf.bak': one('ptp') }],
  ["podman's", { '87-podman-bridge.conflist': list('bridge', 'portmap') }],
  ["CRI-O's", { '100-crio-bridge.conflist': list('bridge'), '200-loopback.conflist': list('loopback') }],
])('does not know where the directory of the cluster is another one: %s', async (_, files) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const unknown = [{ path: '/etc/cni/net.d' }, expect.stringContaining('not known')];
  expect([await withoutMultus(3), info.mock.calls]).toEqual([undefined, [unknown]]);
});

test('a new node: it is not known before a network comes, and Multus after that', async () => {
  const first = new FirstConfiguration({ directory: join(directory, 'new'), path: '/new', log: { info } });
  const answers = [await first.withoutMultus()];
  await mkdir(join(directory, 'new'));
  for (const [name, text] of [
    ['10-kindnet.conflist', list('ptp')],
    ['00-multus.conf', one('multus')],
  ] as const) {
    await writeFile(join(directory, 'new', name), text);
    answers.push(await first.withoutMultus());
  }
  expect(answers).toEqual([undefined, expect.stringContaining('10-kindnet.conflist'), undefined]);
  expect(info).toHaveBeenCalledTimes(1);
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
  expect(await withoutMultus()).toContain(`its first CNI configuration is ${told}`);
});
