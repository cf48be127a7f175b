import type { Certificate, CertifiedKey } from './certificate.ts';

/**
 * The keys and certificates of an operator that is its own authority. A part is missing only where the Secret was
 * damaged. An authority passes through three states: next, issuer, former.
 */
export interface KeyMaterial {
  /** What every replica serves. */
  readonly leaf?: CertifiedKey | undefined;
  /** The authority that signs. */
  readonly issuer?: CertifiedKey | undefined;
  /** The authority that is being made known and will sign. */
  readonly next?: CertifiedKey | undefined;
  /** What clients are to trust: the issuer, the next, and former ones for as long as what they signed may be served. */
  readonly bundle: readonly Certificate[];
}

/** The bundle as it stands in `ca.crt` and in a webhook's `caBundle`. */
export function bundlePem({ bundle }: KeyMaterial): string {
  return bundle.map(({ pem }) => pem).join('');
}
