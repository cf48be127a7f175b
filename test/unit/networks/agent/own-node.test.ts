import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownNode } from '../../../../src/networks/agent/report.ts';

let file: string;

beforeEach(async () => {
  file = join(await mkdtemp(join(tmpdir(), 'own-node-')), 'token');
});

afterEach(async () => {
  await rm(join(file, '..'), { recursive: true });
});

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('ownNode is in the claims of the token', async () => {
  const claims = { node: { name: 'a', uid: 'n' } };
  await writeFile(file, `${encoded({})}.${encoded({ 'kubernetes.io': claims })}.x`);
  expect(await ownNode('a', file)).toEqual({ apiVersion: 'v1', kind: 'Node', ...claims.node });
  expect(await ownNode('b', file)).toBeUndefined();
});

test.each(['', 'a.b.c', `x.${encoded({ sub: 'a' })}.y`, `x.${encoded(null)}.y`])(
  'is undefined without such a claim: %s',
  async (token) => {
    await writeFile(file, token);
    expect(await ownNode('a', file)).toBeUndefined();
    expect(await ownNode('a', `${file}-that-is-not-there`)).toBeUndefined();
  },
);
