import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { run } from './run.ts';

/** Statements about an image, by cosign's name for their type. */
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

/** Without this configuration, cosign publishes the signature and the name of the image in sigstore's log. */
const NO_LOG = join(projectDirectory(), 'hack', 'release', 'signing-config.json');

/** Signs an image, named by digest. Attaches each statement to it, also signed. */
export async function sign(
  signer: Signer,
  reference: string,
  statements: Partial<Statements>,
): Promise<void> {
  const { cosign, key, transparencyLog, scratch } = signer;
  const flags = ['--yes', '--key', key, ...(transparencyLog ? [] : ['--signing-config', NO_LOG])];
  await run(cosign, ['sign', ...flags, reference]);
  for (const [type, statement] of Object.entries(statements)) {
    const file = join(scratch, `${type}.json`);
    await writeFile(file, statement);
    await run(cosign, ['attest', ...flags, '--type', type, '--predicate', file, reference]);
  }
}
