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

test('ownPod and ownNode are in the claims of the token', async () => {
  const claims = { pod: { name: 'agent-1', uid: 'u' }, node: { name: 'a', uid: 'n' } };
  await writeFile(file, `${encoded({})}.${encoded({ 'kubernetes.io': claims })}.x`);
  expect(await ownPod(file)).toEqual(claims.pod);
  expect(await ownNode('a', file)).toEqual({ apiVersion: 'v1', kind: 'Node', ...claims.node });
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
