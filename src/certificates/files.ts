import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KeyPair } from '../kube/admission/server.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { readText, toError } from '../kube/util/errors.ts';
import { authoritiesIn, isAnchored, PEM_CERTIFICATES, readCertificates } from './x509/certificate.ts';

/** The files of a key pair, in the layout of cert-manager and `kubectl create secret tls`. */
export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How often files are read: a watch would miss what the kubelet swaps behind a link, and changes on NFS. */
const POLL_MS = 5_000;

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
  if (!isAnchored(readCertificates(cert), authoritiesIn(pem)))
    throw new Error(`${file}: expected the CA that signed the certificate in --tls-cert-file, got none`);
  return pem;
}

/** Reads authorities of clients (PEM). Rejects if the file cannot be read, is empty or has other certificates. */
export async function loadClientAuthorities(file: string): Promise<string> {
  const blocks = (await readText(file)).match(PEM_CERTIFICATES) ?? [];
  if (blocks.length === 0) throw new Error(`${file}: expected CA certificates (PEM), got none`);
  for (const [index, block] of blocks.entries()) {
    const which = `${file}: certificate ${index + 1} of ${blocks.length}`;
    const { ca, subject } = parsed(`${which} cannot be read`, () => new X509Certificate(block));
    if (!ca) throw new Error(`${which} (${subject}): expected a CA, got a client or server certificate`);
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

/**
 * Uses files that belong together as soon as they are valid, and after each change, on every replica: `load` reads their
 * content, and rejects if it is invalid; `use` is called with each new one. Returns why they are not used yet;
 * undefined from then on, because the last valid ones stay in use.
 */
export function followFiles<T>(
  manager: Pick<Manager, 'everyReplica' | 'log'>,
  files: readonly string[],
  load: () => Promise<T>,
  use: (content: T) => void,
): () => string | undefined {
  const { log } = manager;
  const name = files.join(', ');
  let problem: string | undefined = `${name}: not read yet`;
  let [current, failure]: [T | undefined, string] = [undefined, ''];
  const look = async () => {
    const content = await load();
    failure = '';
    if (isDeepStrictEqual(content, current)) return;
    use(content);
    if (current !== undefined) log.info({ files }, 'files reloaded');
    [current, problem] = [content, undefined];
  };
  const failed = (err: unknown) => {
    const { message } = toError(err);
    if (message === failure) return;
    failure = message;
    if (problem === undefined)
      return log.error({ files, err }, 'cannot use the new files, still using the last valid ones');
    problem = message;
    log.error({ files, err }, 'cannot use these files, retrying: not ready until they are valid');
  };
  manager.everyReplica(`files ${name}`, look, { everyMs: POLL_MS, failed });
  return () => problem;
}
