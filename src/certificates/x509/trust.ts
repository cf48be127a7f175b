import type { WebhookConfiguration } from '../../kube/api/core-resources.ts';
import { type Certificate, isIssuedBy, readCertificates } from './certificate.ts';

/**
 * Whether every webhook of the configuration holds, in its caBundle, an authority of the chain: one that is in it, or
 * has signed a certificate of it. A webhook without a caBundle is not trusted: no public authority signs for a Service.
 */
export function isTrusted(chain: readonly Certificate[], { webhooks = [] }: WebhookConfiguration): boolean {
  return webhooks.every(({ clientConfig: { caBundle = '' } }) => {
    const authorities = authoritiesIn(caBundle);
    return chain.some((certificate) =>
      authorities.some(
        (authority) =>
          authority.fingerprint === certificate.fingerprint || isIssuedBy(certificate, authority),
      ),
    );
  });
}

function authoritiesIn(caBundle: string): readonly Certificate[] {
  try {
    return readCertificates(Buffer.from(caBundle, 'base64').toString());
  } catch {
    // Rubbish is trusted by nobody, and the API server has let it in.
    return [];
  }
}
