import { imageParts } from '../deploy/image-reference.ts';
import type { ReleaseSettings } from './obstacles.ts';
import { Refusal, run } from './run.ts';
import { type Signer, sign } from './sign.ts';

const DIGEST = /sha256:[0-9a-f]{64}/;

/**
 * Pushes a packed chart beside the image, and signs it with the same key: `registry/name` has it in `registry/charts`, since a
 * chart and an image of one version would have the same tag. Resolves to its reference by digest. helm takes the registry's
 * credentials from those of docker.
 */
export async function pushChart(
  helm: string,
  { image, pushFlags }: Pick<ReleaseSettings, 'image' | 'pushFlags'>,
  archive: string,
  signer: Signer,
): Promise<string> {
  const { newName } = imageParts(image);
  const [, registry = '', name = ''] = /^(.*)\/([^/]+)$/.exec(newName) ?? [];
  if (registry === '') throw new Refusal(`IMAGE=${image} has no registry: write REGISTRY/NAME`);
  const plain = pushFlags.includes('--tls-verify=false') ? ['--plain-http'] : [];
  // Helm says it on stderr.
  const printed = await run(helm, ['push', archive, `oci://${registry}/charts`, ...plain], 'both');
  const digest = DIGEST.exec(printed)?.[0];
  if (digest === undefined) throw new Error(`expected a digest from helm push, got ${printed}`);
  const reference = `${registry}/charts/${name}@${digest}`;
  await sign(signer, reference, {});
  return reference;
}
