import { X509Certificate } from 'node:crypto';
import { readText } from '../util/file-problem.ts';

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads certificates of authorities (PEM). Rejects if the file cannot be read, is empty or has other content. */
export async function loadClientAuthorities(file: string): Promise<string> {
  const blocks = (await readText(file)).match(PEM_BLOCK) ?? [];
  if (blocks.length === 0) throw new Error(`${file}: expected certificates of authorities (PEM), got none`);
  blocks.forEach((block, index) => {
    const which = `${file}: certificate ${index + 1} of ${blocks.length}`;
    const { ca, subject } = parse(block, which);
    if (!ca)
      throw new Error(
        `${which} (${subject}): expected an authority, got a certificate of a client or server`,
      );
  });
  return blocks.join('\n');
}

function parse(pem: string, which: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (err) {
    throw new Error(`${which} cannot be read`, { cause: err });
  }
}
