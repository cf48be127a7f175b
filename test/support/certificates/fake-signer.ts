import type { CertifiedKey } from '../../../src/certificates/x509/certificate.ts';
import type { Signer } from '../../../src/certificates/x509/signer.ts';

/** Signs without cryptography, so that a test can live through years of rotations; its PEM is a name, one a line. */
export class FakeSigner implements Signer {
  /** Which authority signed the leaf, fingerprint by fingerprint. */
  readonly issuerOf = new Map<string, string>();
  upToDate = true;
  #made = 0;

  async authority(validity: { notBefore: Date; notAfter: Date }): Promise<CertifiedKey> {
    return this.#certify('authority', validity);
  }

  async leaf(issuer: CertifiedKey, validity: { notBefore: Date; notAfter: Date }): Promise<CertifiedKey> {
    const leaf = this.#certify('leaf', validity);
    this.issuerOf.set(leaf.fingerprint, issuer.fingerprint);
    return leaf;
  }

  isUpToDate(): boolean {
    return this.upToDate;
  }

  #certify(what: string, { notBefore, notAfter }: { notBefore: Date; notAfter: Date }): CertifiedKey {
    this.#made += 1;
    const fingerprint = `${what}-${this.#made}`;
    return {
      pem: `${fingerprint}\n`,
      keyPem: `key of ${fingerprint}`,
      fingerprint,
      notBefore: notBefore.getTime(),
      notAfter: notAfter.getTime(),
    };
  }
}
