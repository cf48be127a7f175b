import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadClientAuthorities, loadKeyPair } from '../../../src/certificates/files.ts';
import { type TestAuthority, testAuthority } from '../../support/kube/test-authority.ts';

let directory: string;
let authority: TestAuthority;

beforeEach(async () => {
  authority = await testAuthority();
  directory = await mkdtemp(join(tmpdir(), 'key-pair-'));
});

afterEach(() => rm(directory, { recursive: true }));

const files = () => ({ certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') });

async function write(cert: string, key: string): Promise<void> {
  await writeFile(files().certFile, cert);
  await writeFile(files().keyFile, key);
}

test('loadKeyPair refuses a key of another certificate', async () => {
  const [one, other] = [await authority.server(), await authority.server()];
  await write(one.certPem, other.keyPem);
  const { certFile, keyFile } = files();
  await expect(loadKeyPair(files())).rejects.toThrow(
    `${keyFile} is not the key of the certificate in ${certFile}`,
  );
});

test('loadKeyPair refuses files that do not exist or are not PEM', async () => {
  const { certPem, keyPem } = await authority.server();
  await expect(loadKeyPair(files())).rejects.toMatchObject({
    message: expect.stringContaining('the file does not exist'),
  });
  await write('none', keyPem);
  await expect(loadKeyPair(files())).rejects.toThrow(`${files().certFile} is not valid PEM`);
  await write(certPem, '');
  await expect(loadKeyPair(files())).rejects.toThrow(`${files().keyFile} is not valid PEM`);
});

const load = async (content: string) => {
  const file = join(directory, 'ca.crt');
  await writeFile(file, content);
  return loadClientAuthorities(file);
};

test('loadClientAuthorities refuses a file with other content', async () => {
  const { certPem } = await authority.client('api-server');
  await expect(load('')).rejects.toThrow('ca.crt: expected CA certificates (PEM), got none');
  await expect(load(authority.caPem + certPem)).rejects.toThrow(
    'certificate 2 of 2 (CN=api-server): expected a CA, got a client or server certificate',
  );
  await expect(load('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')).rejects.toThrow(
    'ca.crt: certificate 1 of 1 cannot be read',
  );
});
