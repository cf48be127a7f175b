import type { Certificate, CertifiedKey } from './certificate.ts';

/**
 * The keys and certificates of an operator that is its own authority. A part is missing only if the Secret was
 * damaged. An authority passes through three states: next, issuer, former.
 */
export interface KeyMaterial {
  /** The certificate that every replica serves. */
  readonly leaf?: CertifiedKey | undefined;
  /** The authority that signs. */
  readonly issuer?: CertifiedKey | undefined;
  /** The authority that is being distributed and will sign later. */
  readonly next?: CertifiedKey | undefined;
  /** What clients must trust: the issuer, the next, and former ones while their certificates may be served. */
  readonly bundle: readonly Certificate[];
}

/** The bundle in PEM, for `ca.crt` and the `caBundle` of webhooks. */
export function bundlePem({ bundle }: KeyMaterial): string {
  return bundle.map(({ pem }) => pem).join('');
}
