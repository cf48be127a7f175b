import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PLUGGED } from '../../../../src/networks/agent/cni-plugins.ts';
import { lostInterfaces } from '../../../../src/networks/agent/missing-interfaces.ts';

const BRIDGE = 'nw-0123456789ab';
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'lost-interfaces-'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

const lost = () => lostInterfaces(root, BRIDGE, join(root, 'devices'));

async function plug(...ports: readonly string[]): Promise<void> {
  for (const port of ports) await mkdir(join(root, 'devices', BRIDGE, 'brif', port), { recursive: true });
}

async function note(pod: string, ports: string): Promise<void> {
  const directory = join(root, PLUGGED, BRIDGE);
  await mkdir(directory, { recursive: true });
  await symlink(`default/${pod} uid-${pod} ${ports}`, join(directory, `${pod}.net1`));
}

test('nobody has lost anything while there is a port for each note', async () => {
  await note('a', 'veth1 ');
  await note('b', 'veth2 ');
  await plug('veth1', 'veth2', 'nx-0123456789ab');
  expect(await lost()).toEqual({});
});

test('pods without a note, of an earlier release, are not counted', async () => {
  await plug('veth1');
  expect(await lost()).toEqual({});
});

test('a pod whose port is gone has lost its interface', async () => {
  await note('a', 'veth1 ');
  await note('b', 'veth2 ');
  await plug('veth1', 'nx-0123456789ab');
  expect(await lost()).toEqual({ 'default/b': 'uid-b' });
});

test('of pods that started at once, it may be each', async () => {
  await note('a', 'veth1 veth2 ');
  await note('b', 'veth1 veth2 ');
  await plug('veth1');
  expect(await lost()).toEqual({ 'default/a': 'uid-a', 'default/b': 'uid-b' });
});

test('a bridge that is not there yet says nothing', async () => {
  await note('a', 'veth1 ');
  expect(await lost()).toEqual({});
});
