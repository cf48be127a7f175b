import { Counter, Gauge, type Registry } from 'prom-client';

/** Receives the state of certificates, for metrics. */
export interface CertificateMetrics {
  /** When the served certificate or the signing authority expires, in seconds since 1970. */
  expires(certificate: 'serving' | 'authority', at: number): void;
  /** Whether every webhook configuration holds the authorities of the served certificate. */
  bundleInSync(inSync: boolean): void;
  /** Counts a certificate that this replica has renewed. */
  rotated(certificate: 'serving' | 'authority'): void;
}

/** When certificates expire, and whether the API server trusts them. */
export function certificateMetrics(registry: Registry): CertificateMetrics {
  const registers = [registry];
  const labelNames = ['certificate'];
  const expiry = new Gauge({
    name: 'envoy_initializer_certificate_expiration_timestamp_seconds',
    help: 'When a certificate expires, in seconds since 1970',
    labelNames,
    registers,
  });
  const inSync = new Gauge({
    name: 'envoy_initializer_ca_bundle_in_sync',
    help: '1 if every webhook configuration holds the authorities of the served certificate, else 0',
    registers,
  });
  const rotations = new Counter({
    name: 'envoy_initializer_certificate_rotations_total',
    help: 'Certificates that this process has renewed',
    labelNames,
    registers,
  });
  return {
    expires: (certificate, at) => expiry.set({ certificate }, at),
    bundleInSync: (is) => inSync.set(is ? 1 : 0),
    rotated: (certificate) => rotations.inc({ certificate }),
  };
}
