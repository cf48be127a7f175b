import { createPrivateKey, X509Certificate } from 'node:crypto';
import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { KeyPair } from '../kube/admission/server.ts';
import { readText } from '../kube/util/file-problem.ts';
import { Trigger } from '../kube/workqueue/trigger.ts';
import { authoritiesIn, isAnchored, readCertificates } from './x509/certificate.ts';

/** The files of a key pair, in the layout of cert-manager and `kubectl create secret tls`. */
export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Finds changes that the file system does not report (an NFS volume, no inotify instance left). */
const POLL_MS = 30_000;
const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads a key pair. Rejects if a file cannot be read, or if key and certificate do not match. */
export async function loadKeyPair({ certFile, keyFile }: KeyPairFiles): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  const certificate = parsed(`${certFile} is not valid PEM`, () => new X509Certificate(cert));
  const privateKey = parsed(`${keyFile} is not valid PEM`, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`${keyFile} is not the key of the certificate in ${certFile}`);
  return { cert, key };
}

/** Reads the authorities (PEM) of the certificate. Rejects if they have not signed it. */
export async function loadAuthorities(file: string, cert: string): Promise<string> {
  const pem = await readText(file);
  if (!isAnchored(readCertificates(cert), authoritiesIn(Buffer.from(pem).toString('base64'))))
    throw new Error(
      `${file}: expected the authority that signed the certificate of --tls-cert-file, got none`,
    );
  return pem;
}

/** Reads authorities of clients (PEM). Rejects if the file cannot be read, is empty or has other certificates. */
export async function loadClientAuthorities(file: string): Promise<string> {
  const blocks = (await readText(file)).match(PEM_BLOCK) ?? [];
  if (blocks.length === 0) throw new Error(`${file}: expected certificates of authorities (PEM), got none`);
  for (const [index, block] of blocks.entries()) {
    const which = `${file}: certificate ${index + 1} of ${blocks.length}`;
    const { ca, subject } = parsed(`${which} cannot be read`, () => new X509Certificate(block));
    if (!ca)
      throw new Error(
        `${which} (${subject}): expected an authority, got a certificate of a client or server`,
      );
  }
  return blocks.join('\n');
}

function parsed<T>(problem: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new Error(problem, { cause: err });
  }
}

export interface FollowedFiles<T> {
  readonly files: readonly string[];
  /** Reads the content of the files; rejects if it is invalid. */
  readonly load: () => Promise<T>;
  /** Called with each new valid content. */
  readonly changed: (content: T) => void;
  /** Called if the files are invalid, while the last valid content stays in use, and if watching fails. */
  readonly failed: (err: unknown) => void;
}

/**
 * Follows files that belong together, until the signal aborts. It watches their directories, not the files: the kubelet
 * swaps a Secret's whole directory behind a symbolic link (`..data`), and the files themselves never change.
 */
export async function followFiles<T>(
  { files, load, changed, failed }: FollowedFiles<T>,
  signal: AbortSignal,
): Promise<void> {
  const trigger = new Trigger();
  for (const directory of new Set(files.map((file) => dirname(file)))) {
    try {
      watch(directory, { signal, persistent: false }, () => trigger.fire()).on('error', failed);
    } catch (err) {
      failed(err);
    }
  }
  let current: T | undefined;
  while (!signal.aborted) {
    try {
      const content = await load();
      if (!isDeepStrictEqual(content, current)) changed(content);
      current = content;
    } catch (err) {
      failed(err);
    }
    await trigger.next(POLL_MS, signal);
  }
}
