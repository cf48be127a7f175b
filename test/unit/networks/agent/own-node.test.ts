import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownNode, ownPod } from '../../../../src/networks/agent/report.ts';

let file: string;

beforeEach(async () => {
  file = join(await mkdtemp(join(tmpdir(), 'own-node-')), 'token');
});

afterEach(async () => {
  await rm(join(file, '..'), { recursive: true });
});

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('ownPod is the pod in the claims of the token', async () => {
  const pod = { name: 'agent-1', uid: 'u' };
  await writeFile(file, `x.${encoded({ 'kubernetes.io': { pod, node: { name: 'a' } } })}.y`);
  expect(await ownPod(file)).toEqual(pod);
});

test('ownNode is the Node in the claims of the token', async () => {
  await writeFile(
    file,
    `${encoded({})}.${encoded({ 'kubernetes.io': { node: { name: 'a', uid: 'u' } } })}.x`,
  );
  expect(await ownNode('a', file)).toEqual({ apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'u' });
  expect(await ownNode('b', file)).toBeUndefined();
});

test.each(['', 'a.b.c', `x.${encoded({ sub: 'a' })}.y`, `x.${encoded(null)}.y`])(
  'neither is defined without such a claim: %s',
  async (token) => {
    await writeFile(file, token);
    expect(await ownPod(file)).toBeUndefined();
    expect(await ownNode('a', file)).toBeUndefined();
    expect(await ownNode('a', `${file}-that-is-not-there`)).toBeUndefined();
  },
);
