/** What is told of certificates, for metrics. */
export interface CertificateMetrics {
  /** When the certificate that is served, or the authority that signs, expires: seconds since 1970. */
  expires(certificate: 'serving' | 'authority', at: number): void;
  /** Whether every webhook configuration holds the authorities of what is served. */
  bundleInSync(inSync: boolean): void;
  /** This replica has put a new one in the place of an old one. */
  rotated(certificate: 'serving' | 'authority'): void;
}
