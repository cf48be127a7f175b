import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { installPlugins, PLUGGED } from '../../../../src/networks/agent/cni-plugins.ts';
import { withoutMultus } from '../../../../src/networks/agent/first-configuration.ts';
import { lostInterfaces, lostOn } from '../../../../src/networks/agent/lost-interfaces.ts';
import { ownNode, ownPod } from '../../../../src/networks/agent/report.ts';
import { MAX_REPORT } from '../../../../src/networks/nodes/node-report.ts';

let root: string;
let file: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'node-'));
  file = join(root, 'token');
});
afterEach(() => rm(root, { recursive: true }));

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('ownPod and ownNode are in the claims of the token', async () => {
  const claims = { pod: { name: 'agent-1', uid: 'u' }, node: { name: 'a', uid: 'n' } };
  await writeFile(file, `${encoded({})}.${encoded({ 'kubernetes.io': claims })}.x`);
  expect(await ownPod(file)).toEqual(claims.pod);
  expect(await ownNode('a', file)).toEqual({ apiVersion: 'v1', kind: 'Node', ...claims.node });
  expect(await ownNode('b', file)).toBeUndefined();
});

test.each(['', 'a.b.c', `x.${encoded({ sub: 'a' })}.y`, `x.${encoded(null)}.y`])(
  'ownPod and ownNode are undefined without such a claim: %s',
  async (token) => {
    await writeFile(file, token);
    expect(await ownPod(file)).toBeUndefined();
    expect(await ownNode('a', file)).toBeUndefined();
    expect(await ownNode('a', `${file}-that-is-not-there`)).toBeUndefined();
  },
);

const list = (...types: readonly string[]) =>
  JSON.stringify({ name: 'net', plugins: types.map((type) => ({ type })) });
const one = (type: string) => JSON.stringify({ name: 'net', type });

test.each([
  ['Multus, thin', { '00-multus.conf': one('multus'), '10-kindnet.conflist': list('ptp') }],
  ['Multus, thick', { '00-multus.conf': one('multus-shim') }],
  ['Multus in a list', { '05-multus.conflist': list('multus', 'tuning') }],
  ['a file that cannot be read', { '00-a.conf': '{' }],
])('withoutMultus takes Multus for the first CNI configuration: %s', async (_, files) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  expect(await withoutMultus(root)).toBeUndefined();
});

test.each([
  [{ '10-kindnet.conflist': list('ptp', 'portmap') }, '10-kindnet.conflist (ptp, portmap)'],
  [
    { '05-cilium.conflist': list('cilium-cni'), '10-multus.conf': one('multus') },
    '05-cilium.conflist (cilium',
  ],
  [{ 'a.json': one('bridge'), 'z.conf': one('multus') }, 'a.json (bridge)'],
])('withoutMultus names the first CNI configuration of %j', async (files, told) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  expect(await withoutMultus(root)).toContain(`its first CNI configuration is ${told}`);
});

let directory: string;
let source: string;

beforeEach(async () => {
  [directory, source] = [join(root, 'node', 'bin'), join(root, 'image')];
  await mkdir(source);
  for (const name of ['bridge', 'static']) await writeFile(join(source, name), `our ${name}`);
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

const BRIDGE = 'nw-0123456789ab';

const lost = () => lostInterfaces(root, BRIDGE, join(root, 'devices'));

async function plug(...ports: readonly string[]): Promise<void> {
  for (const port of ports) await mkdir(join(root, 'devices', BRIDGE, 'brif', port), { recursive: true });
}

async function note(pod: string, ports: string, bridge = BRIDGE): Promise<void> {
  const directory = join(root, PLUGGED, bridge);
  await mkdir(directory, { recursive: true });
  await symlink(`default/${pod} uid-${pod} ${ports}`, join(directory, `${pod}.net1`));
}

test('no pod has lost its interface while the bridge has a port for each note', async () => {
  await note('a', 'veth1 ');
  await note('b', 'veth2 ');
  await plug('veth1', 'veth2', 'nx-0123456789ab');
  expect(await lost()).toEqual({});
});

test('pods without a note, of an earlier release, have not lost their interface', async () => {
  await plug('veth1');
  expect(await lost()).toEqual({});
});

test('a pod whose port is gone has lost its interface', async () => {
  await note('a', 'veth1 ');
  await note('b', 'veth2 ');
  await plug('veth1', 'nx-0123456789ab');
  expect(await lost()).toEqual({ 'default/b': 'uid-b' });
});

test('any of the pods that started at once may have lost its interface', async () => {
  await note('a', 'veth1 veth2 ');
  await note('b', 'veth1 veth2 ');
  await plug('veth1');
  expect(await lost()).toEqual({ 'default/a': 'uid-a', 'default/b': 'uid-b' });
});

test('no pod has lost its interface while its bridge is not there yet', async () => {
  await note('a', 'veth1 ');
  expect(await lost()).toEqual({});
});

test('the interfaces that pods with long names have lost leave room in the report', async () => {
  const here = Array.from(Array(32), (_, i) => ({ metadata: { name: `network${i}` }, bridge: `nw${i}` }));
  for (const { bridge } of here) {
    await mkdir(join(root, 'devices', bridge), { recursive: true });
    for (let i = 10; i < 23; i++) await note(`${i}${'p'.repeat(248)}`, 'veth1 ', bridge);
  }
  const told = JSON.stringify(await lostOn(here, root, join(root, 'devices')));
  expect(told).toContain('network1');
  expect(told.length).toBeLessThan(MAX_REPORT / 2);
});
