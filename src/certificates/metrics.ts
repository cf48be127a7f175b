import { Counter, Gauge, type Registry } from 'prom-client';
import type { CertificateMetrics } from './certificate-metrics.ts';

/** How long certificates last, and whether the API server is told to trust them. */
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
    help: 'Whether every webhook configuration holds the authorities of what is served: 1, else 0',
    registers,
  });
  const rotations = new Counter({
    name: 'envoy_initializer_certificate_rotations_total',
    help: 'Certificates that this process put in the place of an old one',
    labelNames,
    registers,
  });
  return {
    expires: (certificate, at) => expiry.set({ certificate }, at),
    bundleInSync: (is) => inSync.set(is ? 1 : 0),
    rotated: (certificate) => rotations.inc({ certificate }),
  };
}
