import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readText } from '../util/file-problem.ts';
import type { KeyPair } from './server.ts';

/** The files of a key pair, in the layout of cert-manager and `kubectl create secret tls`. */
export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Reads a key pair. Rejects if a file cannot be read, or if key and certificate do not match. */
export async function loadKeyPair({ certFile, keyFile }: KeyPairFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  if (
    !parse(certFile, () => new X509Certificate(cert)).checkPrivateKey(
      parse(keyFile, () => createPrivateKey(key)),
    )
  ) {
    throw new Error(`${keyFile} is not the key of the certificate in ${certFile}`);
  }
  return { cert, key };
}

function parse<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new Error(`${file} is not valid PEM`, { cause: err });
  }
}
