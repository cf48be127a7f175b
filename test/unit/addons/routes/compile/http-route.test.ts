import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { HTTP_ROUTE, typesOf } from '../../../../../hack/generate-types.ts';
import { projectDirectory } from '../../../../env/control-plane/project-directory.ts';

const read = (file: string) => readFile(join(projectDirectory(), file), 'utf8');

test('http-route.ts matches the CRD: otherwise run `node hack/generate-types.ts`', async () => {
  expect(await read(HTTP_ROUTE.types)).toBe(await typesOf(HTTP_ROUTE, await read(HTTP_ROUTE.crd)));
});

test('the CRD is of the standard channel', async () => {
  expect(await read(HTTP_ROUTE.crd)).toContain('gateway.networking.k8s.io/channel: standard');
});
