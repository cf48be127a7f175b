import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes Keystone's key repositories in the directory: Fernet keys, as `keystone-manage fernet_setup` makes them. */
export async function writeKeystoneKeys(directory: string): Promise<void> {
  for (const name of ['fernet-keys', 'credential-keys']) {
    const repository = join(directory, name);
    await mkdir(repository, { mode: 0o700 });
    for (const key of ['0', '1']) {
      const text = randomBytes(32).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
      await writeFile(join(repository, key), text, { mode: 0o600 });
    }
  }
}
