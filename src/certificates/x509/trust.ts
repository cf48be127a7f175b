import type { WebhookConfiguration } from '../../kube/api/core-resources.ts';
import { type Certificate, isIssuedBy, readCertificates } from './certificate.ts';

/**
 * Whether the caBundle of every webhook holds an authority of the chain: one that is in it, or has signed one of
 * its certificates. Without a caBundle the chain is not trusted, because no public authority signs for a Service.
 */
export function isTrusted(chain: readonly Certificate[], { webhooks = [] }: WebhookConfiguration): boolean {
  return webhooks.every(({ clientConfig: { caBundle = '' } }) => isAnchored(chain, authoritiesIn(caBundle)));
}

/** Whether one of the authorities is in the chain, or has signed one of its certificates. */
export function isAnchored(chain: readonly Certificate[], authorities: readonly Certificate[]): boolean {
  return chain.some((certificate) =>
    authorities.some(
      (authority) => authority.fingerprint === certificate.fingerprint || isIssuedBy(certificate, authority),
    ),
  );
}

/** The certificates of a caBundle (base64); empty if it is invalid. */
export function authoritiesIn(caBundle: string): readonly Certificate[] {
  try {
    return readCertificates(Buffer.from(caBundle, 'base64').toString());
  } catch {
    // The API server stores an invalid caBundle, but it makes nothing trusted.
    return [];
  }
}
