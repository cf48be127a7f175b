import { X509Certificate } from 'node:crypto';
import { TransportError } from '../../../kube/api/api-error.ts';
import { NotConfiguredError } from './openstack-error.ts';

/** The key of CA certificates in the Secret, and in a cloud of clouds.yaml. */
export const CA_KEY = 'cacert';
const WHAT_TO_DO =
  "put the authority's certificate (PEM, -----BEGIN CERTIFICATE-----) into key cacert of the Secret";
/** OpenSSL's codes for a server certificate without a trusted authority. */
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
 * The authorities to trust, in PEM: those of the Secret, else those in clouds.yaml; undefined without any. A path in
 * clouds.yaml, which OpenStack's own tools accept, belongs to the user's machine.
 * @throws NotConfiguredError for invalid certificates, which Node would ignore.
 */
export function authoritiesOf(beside: string | undefined, inside: string | undefined): string | undefined {
  const pem = beside ?? inside;
  if (pem === undefined) return undefined;
  const certificates = pem.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length > 0 && certificates.every(isReadable)) return pem;
  const where = beside === undefined ? 'cacert in clouds.yaml' : 'key cacert';
  throw new NotConfiguredError(`${where} is invalid: expected certificates and no path: ${WHAT_TO_DO}`);
}

/** Replaces Node's message for an untrusted server by one that says what to do. Returns other errors as they are. */
export function explained(error: unknown, what: string): unknown {
  if (!(error instanceof TransportError) || !UNTRUSTED.has(error.code)) return error;
  const message = `${what}: its certificate is not from a trusted authority (${error.code}): ${WHAT_TO_DO}`;
  return new TransportError(message, error.code, error);
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
