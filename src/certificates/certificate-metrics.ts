/** Receives the state of certificates, for metrics. */
export interface CertificateMetrics {
  /** When the served certificate or the signing authority expires, in seconds since 1970. */
  expires(certificate: 'serving' | 'authority', at: number): void;
  /** Whether every webhook configuration holds the authorities of the served certificate. */
  bundleInSync(inSync: boolean): void;
  /** Counts a certificate that this replica has renewed. */
  rotated(certificate: 'serving' | 'authority'): void;
}
