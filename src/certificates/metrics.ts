import { Counter, Gauge, type Registry } from 'prom-client';

/** When certificates expire, and whether the API server trusts them. */
export function certificateMetrics(registry: Registry) {
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
    /** When the served certificate or the signing authority expires, in seconds since 1970. */
    expires: (certificate: 'serving' | 'authority', at: number): void => expiry.set({ certificate }, at),
    /** Whether every webhook configuration holds the authorities of the served certificate. */
    bundleInSync: (is: boolean): void => inSync.set(is ? 1 : 0),
    /** Counts a certificate that this replica has renewed. */
    rotated: (certificate: 'serving' | 'authority'): void => rotations.inc({ certificate }),
  };
}
export type CertificateMetrics = ReturnType<typeof certificateMetrics>;
