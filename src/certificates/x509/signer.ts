import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { PROGRAM } from '../../util/identity.ts';
import type { Validity } from './authority.ts';
import { type Certificate, type CertifiedKey, readCertifiedKey } from './certificate.ts';

/** Creates keys and signs certificates. */
export interface Signer {
  authority(validity: Validity): Promise<CertifiedKey>;
  leaf(issuer: CertifiedKey, validity: Validity): Promise<CertifiedKey>;
  /** Whether the leaf has all names that a new one would have. */
  isUpToDate(leaf: CertifiedKey): boolean;
}

/** The names by which clients call a server. Its certificate must have them. */
export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/**
 * The names of the operator's Service in a namespace, and of a webhook that runs outside the cluster. The API server
 * calls `service.namespace.svc`
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference);
 * users and probes use the others.
 * @throws TypeError if the URL is invalid.
 */
export function serverNames(namespace: string, webhookUrl?: string): ServerNames {
  const inNamespace = `${PROGRAM}.${namespace}`;
  const dnsNames = [PROGRAM, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.cluster.local`];
  if (webhookUrl === undefined) return { dnsNames, ipAddresses: [] };
  // In a URL, an IPv6 address is in brackets.
  const host = new URL(webhookUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) ? { dnsNames, ipAddresses: [host] } : { dnsNames: [...dnsNames, host], ipAddresses: [] };
}

/** Loaded on the first signature, which is rare: a process that finds its certificates starts sooner. */
const authorities = () => import('./authority.ts');

/** Returns a signer with ECDSA keys: for authorities, and for leaves of a server with these names. */
export function x509Signer(names: ServerNames): Signer {
  return {
    async authority(validity) {
      // A unique name distinguishes authorities in a bundle, as in client-go.
      const commonName = `envoy-initializer-ca@${Math.floor(validity.notBefore.getTime() / 1000)}`;
      const { createAuthority } = await authorities();
      const { certPem, keyPem } = await createAuthority({ commonName, ...validity });
      return readCertifiedKey(certPem, keyPem);
    },
    async leaf(issuer, validity) {
      const authority = { certPem: issuer.pem, keyPem: issuer.keyPem };
      const request = { commonName: PROGRAM, usage: 'server', ...names, ...validity } as const;
      const { issueCertificate } = await authorities();
      const { certPem, keyPem } = await issueCertificate(authority, request);
      const leaf = readCertifiedKey(certPem, keyPem);
      const missing = missingNames(leaf, names);
      // Checked here: otherwise such a leaf would be replaced again and again.
      if (missing.length > 0) throw new Error(`these names are not valid in a certificate: ${missing}`);
      return leaf;
    },
    isUpToDate: (leaf) => missingNames(leaf, names).length === 0,
  };
}

/** The names of a server that its certificate lacks. Clients that use one of them reject the certificate. */
function missingNames({ pem }: Certificate, { dnsNames, ipAddresses }: ServerNames): readonly string[] {
  const x509 = new X509Certificate(pem);
  return [
    // As Go's TLS in the API server: only alternative names, never the subject.
    ...dnsNames.filter((name) => x509.checkHost(name, { subject: 'never' }) === undefined),
    ...ipAddresses.filter((address) => x509.checkIP(address) === undefined),
  ];
}
