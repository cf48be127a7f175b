import { PROGRAM } from '../../util/own-names.ts';
import type { Signer } from '../renewal.ts';
import type { CertificateAndKey } from './authority.ts';
import { type CertifiedKey, missingNames, readCertifiedKey } from './certificate.ts';
import type { ServerNames } from './server-names.ts';

/** Loaded on the first signature, which is rare: a process that finds its certificates starts sooner. */
const authorities = () => import('./authority.ts');

/** Returns a signer with ECDSA keys: for authorities, and for leaves of a server with these names. */
export function x509Signer(names: ServerNames): Signer {
  return {
    async authority(validity) {
      // A unique name distinguishes authorities in a bundle, as in client-go.
      const commonName = `envoy-initializer-ca@${Math.floor(validity.notBefore.getTime() / 1000)}`;
      const { createAuthority } = await authorities();
      return certified(await createAuthority({ commonName, ...validity }));
    },
    async leaf(issuer, validity) {
      const authority = { certPem: issuer.pem, keyPem: issuer.keyPem };
      const request = { commonName: PROGRAM, usage: 'server', ...names, ...validity } as const;
      const { issueCertificate } = await authorities();
      const leaf = certified(await issueCertificate(authority, request));
      const missing = missingNames(leaf, names);
      // Checked here: otherwise such a leaf would be replaced again and again.
      if (missing.length > 0) throw new Error(`expected names that a certificate can hold, got ${missing}`);
      return leaf;
    },
    isUpToDate: (leaf) => missingNames(leaf, names).length === 0,
  };
}

function certified({ certPem, keyPem }: CertificateAndKey): CertifiedKey {
  return readCertifiedKey(certPem, keyPem);
}
