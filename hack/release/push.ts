import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ReleaseSettings } from './obstacles.ts';
import { Refusal, run } from './run.ts';

const DIGEST = /sha256:[0-9a-f]{64}/;
/** The messages of registries and builders when the user may not push. */
const NOT_ALLOWED = /unauthorized|denied|authentication required/i;

/** Pushes the image, and resolves to its digest in the registry. Rejects with a Refusal if the registry refuses. */
export async function push(
  { builder, image, pushFlags }: Pick<ReleaseSettings, 'builder' | 'image' | 'pushFlags'>,
  scratch: string,
): Promise<string> {
  const file = join(scratch, 'digest');
  // podman and buildah write the digest; docker prints it.
  const isDocker = basename(builder) === 'docker';
  const printed = await run(builder, [
    'push',
    ...(isDocker ? [] : ['--digestfile', file]),
    ...pushFlags,
    image,
  ]).catch((err: unknown) => {
    if (!(err instanceof Refusal) || !NOT_ALLOWED.test(err.message)) throw err;
    const [registry] = image.split('/');
    const logIn = `run \`${basename(builder)} login ${registry}\` as a user who may push there`;
    throw new Refusal(`${registry} refuses the push: ${logIn}.\n${err.message}`, { cause: err });
  });
  const text = isDocker ? printed : await readFile(file, 'utf8');
  const digest = DIGEST.exec(text)?.[0];
  if (digest === undefined) throw new Error(`expected a digest from ${builder} push, got ${text}`);
  return digest;
}
