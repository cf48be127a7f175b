import { X509Certificate } from 'node:crypto';
import { TransportError } from '../../../../kube/api/api-error.ts';
import { NotConfiguredError } from './openstack-error.ts';

/** Of the Secret, and of a cloud in clouds.yaml. */
export const CA_KEY = 'cacert';
const WHAT_TO_DO =
  "put the authority's certificate (PEM, -----BEGIN CERTIFICATE-----) into key cacert of the Secret";
/** OpenSSL's words for a server whose certificate leads to nobody who is trusted here. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The authorities to trust, PEM: those that the Secret has beside clouds.yaml, else those in it; undefined where there
 * are none. OpenStack's own tools read a path in clouds.yaml, which is of a machine of the user's.
 * @throws NotConfiguredError for what is no certificate: Node would pass over it, and trust nobody.
 */
export function authoritiesOf(beside: string | undefined, inside: string | undefined): string | undefined {
  const pem = beside ?? inside;
  if (pem === undefined) return undefined;
  const certificates = pem.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length > 0 && certificates.every(isReadable)) return pem;
  const where = beside === undefined ? 'cacert in clouds.yaml' : 'key cacert';
  throw new NotConfiguredError(`${where} cannot be used: expected certificates and no path: ${WHAT_TO_DO}`);
}

/** The error, in words that say what to do where it is that nobody trusts the server: Node's speak of its own flags. */
export function explained(error: unknown, what: string): unknown {
  if (!(error instanceof TransportError) || !UNTRUSTED.has(error.code)) return error;
  const message = `${what}: the authority of its certificate is not trusted (${error.code}): ${WHAT_TO_DO}`;
  return new TransportError(message, error.code, error);
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
