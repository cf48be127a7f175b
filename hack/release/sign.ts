import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { run } from './run.ts';

/** Statements about an image, by the types that cosign knows them by. */
export interface Statements {
  readonly cyclonedx: string;
  readonly slsaprovenance1: string;
}

/** How to sign. */
export interface Signer {
  /** The path of cosign, which reads the key's password from COSIGN_PASSWORD. */
  readonly cosign: string;
  readonly key: string;
  readonly transparencyLog: boolean;
  /** A directory for files that cosign reads. */
  readonly scratch: string;
}

/** Without it cosign publishes the signature in sigstore's log, with the name of the image. */
const NO_LOG = join(projectDirectory(), 'hack', 'release', 'signing-config.json');

/** Signs an image, named by digest, and attaches each statement to it, signed too. */
export async function sign(signer: Signer, reference: string, statements: Statements): Promise<void> {
  const { cosign, key, transparencyLog, scratch } = signer;
  const flags = ['--yes', '--key', key, ...(transparencyLog ? [] : ['--signing-config', NO_LOG])];
  await run(cosign, ['sign', ...flags, reference]);
  for (const [type, statement] of Object.entries(statements)) {
    const file = join(scratch, `${type}.json`);
    await writeFile(file, statement);
    await run(cosign, ['attest', ...flags, '--type', type, '--predicate', file, reference]);
  }
}
