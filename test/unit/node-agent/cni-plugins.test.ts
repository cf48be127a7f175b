import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { installPlugins } from '../../../src/node-agent/cni-plugins.ts';

let root: string;
let directory: string;
let source: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'cni-plugins-'));
  [directory, source] = [join(root, 'node', 'bin'), join(root, 'image')];
  await mkdir(source);
  for (const name of ['bridge', 'host-local']) await writeFile(join(source, name), `our ${name}`);
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

const read = (name: string) => readFile(join(directory, name), 'utf8');

test('a node that has no plugins gets them, to be run by all, and once', async () => {
  const written = ['bridge', 'host-local', 'envoy-initializer-ipam'];
  expect(await installPlugins({ directory, source })).toEqual(written);
  for (const name of written) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o755);
  expect(await read('bridge')).toBe('our bridge');
  expect(await installPlugins({ directory, source })).toEqual([]);
});

test('what a node has is left as it is, also a link to nowhere; our own is kept up to date', async () => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'bridge'), 'theirs');
  await symlink('/of/the/node', join(directory, 'host-local'));
  await writeFile(join(directory, 'envoy-initializer-ipam'), 'of an earlier release');
  expect(await installPlugins({ directory, source })).toEqual(['envoy-initializer-ipam']);
  expect(await read('bridge')).toBe('theirs');
  expect(await read('envoy-initializer-ipam')).toContain('host-local');
});

test('a plugin that is nowhere to be had is named', async () => {
  await rm(join(source, 'host-local'));
  await expect(installPlugins({ directory, source })).rejects.toThrow(/lacks the CNI plugin .*host-local/);
});
