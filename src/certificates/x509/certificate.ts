import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ServerNames } from './server-names.ts';

/** An X.509 certificate and what is decided by it. Times are milliseconds since 1970. */
export interface Certificate {
  readonly pem: string;
  /** SHA-256 of the certificate as `openssl x509 -fingerprint -sha256` prints it: no two share one. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A certificate with the private key that belongs to it, PEM. */
export interface CertifiedKey extends Certificate {
  readonly keyPem: string;
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads all certificates of a PEM text, in their order. @throws Error where there is none, or one that is none. */
export function readCertificates(pem: string): readonly Certificate[] {
  const blocks = pem.match(PEM_CERTIFICATE);
  if (!blocks) throw new Error('expected PEM certificates, got none');
  return blocks.map((block) => certificateOf(new X509Certificate(block), `${block}\n`));
}

/**
 * Reads a certificate, its chain after it if it has one, and its private key.
 * @throws Error where either cannot be read, or they do not belong together.
 */
export function readCertifiedKey(certPem: string, keyPem: string): CertifiedKey {
  const [first] = readCertificates(certPem);
  const x509 = new X509Certificate(first?.pem ?? certPem);
  if (!x509.checkPrivateKey(createPrivateKey(keyPem))) {
    throw new Error('expected the private key of the certificate, got that of another');
  }
  return { ...certificateOf(x509, certPem), keyPem };
}

/** Whether the authority signed the certificate, by its name, by its right to sign, and by its key. */
export function isIssuedBy(certificate: Certificate, authority: Certificate): boolean {
  const issuer = new X509Certificate(authority.pem);
  const issued = new X509Certificate(certificate.pem);
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey);
}

/** The names of a server that its certificate does not say, so that a client who calls it by them is refused. */
export function missingNames(
  certificate: Certificate,
  { dnsNames, ipAddresses }: ServerNames,
): readonly string[] {
  const x509 = new X509Certificate(certificate.pem);
  return [
    // As Go's TLS does, the API server's: alternative names alone, never the subject.
    ...dnsNames.filter((name) => x509.checkHost(name, { subject: 'never' }) === undefined),
    ...ipAddresses.filter((address) => x509.checkIP(address) === undefined),
  ];
}

function certificateOf(x509: X509Certificate, pem: string): Certificate {
  return {
    pem,
    fingerprint: x509.fingerprint256,
    notBefore: x509.validFromDate.getTime(),
    notAfter: x509.validToDate.getTime(),
  };
}
