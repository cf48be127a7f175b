import type { Registry } from 'prom-client';
import { metricsIn } from '../kube/prometheus/index.ts';

/** When certificates expire, and whether the API server trusts them. */
export function certificateMetrics(registry: Registry) {
  const { counter, gauge } = metricsIn(registry);
  const expiry = gauge(
    [
      'envoy_initializer_certificate_expiration_timestamp_seconds',
      'When a certificate expires, in seconds since 1970',
    ],
    'certificate',
  );
  const inSync = gauge([
    'envoy_initializer_ca_bundle_in_sync',
    '1 if every webhook configuration holds the CAs of the served certificate, else 0',
  ]);
  const rotations = counter(
    ['envoy_initializer_certificate_rotations_total', 'Certificates that this process has renewed'],
    'certificate',
  );
  return {
    /** When the served certificate or the signing authority expires, in seconds since 1970. */
    expires: (certificate: 'serving' | 'authority', at: number): void => expiry.set({ certificate }, at),
    /** Whether every webhook configuration holds the CAs of the served certificate. */
    bundleInSync: (is: boolean): void => inSync.set(is ? 1 : 0),
    /** Counts a certificate that this replica has renewed. */
    rotated: (certificate: 'serving' | 'authority'): void => rotations.inc({ certificate }),
  };
}
export type CertificateMetrics = ReturnType<typeof certificateMetrics>;
