import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadClientAuthorities } from '../../../../src/kube/admission/client-authorities.ts';
import { testAuthority } from '../../../support/kube/test-authority.ts';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'client-ca-'));
  file = join(directory, 'ca.crt');
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test('returns the authorities of the file, without the text between them', async () => {
  const [one, other] = [await testAuthority(), await testAuthority()];
  await writeFile(file, `# one\n${one.caPem}\n# other\n${other.caPem}`);
  expect(await loadClientAuthorities(file)).toBe(`${one.caPem.trim()}\n${other.caPem.trim()}`);
});

test.each([
  ['nothing', async () => '', /ca\.crt: expected certificates of authorities \(PEM\), got none$/],
  [
    'a certificate of a client',
    async () => {
      const authority = await testAuthority();
      return authority.caPem + (await authority.client('api-server')).certPem;
    },
    /ca\.crt: certificate 2 of 2 \(CN=api-server\): expected an authority, got a certificate of a client or server$/,
  ],
  [
    'a damaged certificate',
    async () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    /ca\.crt: certificate 1 of 1 cannot be read$/,
  ],
])('refuses a file with %s', async (_, content, message) => {
  await writeFile(file, await content());
  await expect(loadClientAuthorities(file)).rejects.toThrow(message);
});

test('refuses a file that does not exist', async () => {
  await expect(loadClientAuthorities(file)).rejects.toMatchObject({
    message: expect.stringContaining('the file does not exist'),
  });
});
