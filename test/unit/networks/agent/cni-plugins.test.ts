import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { installPlugins } from '../../../../src/networks/agent/cni-plugins.ts';

let root: string;
let directory: string;
let source: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'cni-plugins-'));
  [directory, source] = [join(root, 'node', 'bin'), join(root, 'image')];
  await mkdir(source);
  for (const name of ['bridge', 'static']) await writeFile(join(source, name), `our ${name}`);
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

const read = (name: string) => readFile(join(directory, name), 'utf8');

const scripts = { 'of-a-part': '#!/bin/sh\n' };

test('installPlugins installs missing plugins once, executable by all', async () => {
  const written = ['bridge', 'static', 'envoy-initializer-ipam', 'of-a-part'];
  expect(await installPlugins({ directory, source, scripts })).toEqual(written);
  for (const name of written) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o755);
  expect(await read('bridge')).toBe('our bridge');
  expect(await installPlugins({ directory, source, scripts })).toEqual([]);
});

test('installPlugins keeps existing plugins, also a broken link, and updates its own', async () => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'bridge'), 'theirs');
  await symlink('/of/the/node', join(directory, 'static'));
  await writeFile(join(directory, 'envoy-initializer-ipam'), 'of an earlier release');
  expect(await installPlugins({ directory, source, scripts })).toEqual([
    'envoy-initializer-ipam',
    'of-a-part',
  ]);
  expect(await read('bridge')).toBe('theirs');
  expect(await read('envoy-initializer-ipam')).toContain('static');
});

test('installPlugins rejects with the path of a plugin that the source lacks', async () => {
  await rm(join(source, 'static'));
  await expect(installPlugins({ directory, source, scripts })).rejects.toThrow(
    /lacks a CNI plugin, and .*static cannot be read/,
  );
});
