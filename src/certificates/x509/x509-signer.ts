import { PROGRAM } from '../../json/own-names.ts';
import type { Signer } from '../renewal.ts';
import type { CertificateAndKey } from './authority.ts';
import { type CertifiedKey, missingNames, readCertifiedKey } from './certificate.ts';
import type { ServerNames } from './server-names.ts';

/** Loaded when something is signed, which is seldom: a process that finds its certificates there starts sooner. */
const authorities = () => import('./authority.ts');

/** Signs with ECDSA keys: authorities, and leaves for a server of these names. */
export function x509Signer(names: ServerNames): Signer {
  return {
    async authority(validity) {
      // Authorities are told apart by name in a bundle that holds several, as client-go's are.
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
      // Found out here, or such a leaf would be replaced at once, again and again.
      if (missing.length > 0) throw new Error(`expected names that a certificate can hold, got ${missing}`);
      return leaf;
    },
    isUpToDate: (leaf) => missingNames(leaf, names).length === 0,
  };
}

function certified({ certPem, keyPem }: CertificateAndKey): CertifiedKey {
  return readCertifiedKey(certPem, keyPem);
}
