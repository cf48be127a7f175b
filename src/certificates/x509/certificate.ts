import { createPrivateKey, X509Certificate } from 'node:crypto';

/** An X.509 certificate and the fields that decisions use. Times are milliseconds since 1970. */
export interface Certificate {
  readonly pem: string;
  /** SHA-256 of the certificate as `openssl x509 -fingerprint -sha256` prints it; unique. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A certificate with the private key that belongs to it, PEM. */
export interface CertifiedKey extends Certificate {
  readonly keyPem: string;
}

/** The certificates in a text. */
export const PEM_CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads all certificates of a PEM text, in order. @throws Error if there is none, or one is invalid. */
export function readCertificates(pem: string): readonly Certificate[] {
  const blocks = pem.match(PEM_CERTIFICATES);
  if (!blocks) throw new Error('expected PEM certificates, got none');
  return blocks.map((block) => certificateOf(new X509Certificate(block), `${block}\n`));
}

/**
 * Reads a certificate, which its chain may follow, and its private key.
 * @throws Error if either cannot be read, or they do not match.
 */
export function readCertifiedKey(certPem: string, keyPem: string): CertifiedKey {
  const [first] = readCertificates(certPem);
  const x509 = new X509Certificate(first?.pem ?? certPem);
  if (!x509.checkPrivateKey(createPrivateKey(keyPem))) {
    throw new Error('expected the private key of the certificate, got the key of another one');
  }
  return { ...certificateOf(x509, certPem), keyPem };
}

export function pemOf(certificates: readonly Certificate[]): string {
  return certificates.map(({ pem }) => pem).join('');
}

export function includes(certificates: readonly Certificate[], { fingerprint }: Certificate): boolean {
  return certificates.some((certificate) => certificate.fingerprint === fingerprint);
}

/** The certificates of a PEM text; empty if one is invalid: the API server stores such a caBundle, but it makes nothing trusted. */
export function authoritiesIn(pem: string): readonly Certificate[] {
  try {
    return readCertificates(pem);
  } catch {
    return [];
  }
}

/** Whether one of the authorities is in the chain, or has signed one of its certificates. */
export function isAnchored(chain: readonly Certificate[], authorities: readonly Certificate[]): boolean {
  return chain.some(
    (certificate) =>
      includes(authorities, certificate) ||
      authorities.some((authority) => isIssuedBy(certificate, authority)),
  );
}

/** Whether the authority signed the certificate: checks its name, its right to sign and its key. */
export function isIssuedBy(certificate: Certificate, authority: Certificate): boolean {
  const issuer = new X509Certificate(authority.pem);
  const issued = new X509Certificate(certificate.pem);
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey);
}

function certificateOf(x509: X509Certificate, pem: string): Certificate {
  return {
    pem,
    fingerprint: x509.fingerprint256,
    notBefore: x509.validFromDate.getTime(),
    notAfter: x509.validToDate.getTime(),
  };
}
