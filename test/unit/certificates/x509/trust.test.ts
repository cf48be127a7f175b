import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type CertificateAndKey,
  createAuthority,
  issueCertificate,
} from '../../../../src/certificates/x509/authority.ts';
import { readCertificates } from '../../../../src/certificates/x509/certificate.ts';
import { isTrusted } from '../../../../src/certificates/x509/trust.ts';

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 600_000) };
const leafOf = { commonName: 'webhook', dnsNames: ['a.b.svc'], ipAddresses: [], usage: 'server' } as const;

let authority: CertificateAndKey;
let other: CertificateAndKey;
let leaf: string;

beforeAll(async () => {
  authority = await createAuthority({ commonName: 'ours', ...validity });
  other = await createAuthority({ commonName: 'ours', ...validity });
  leaf = (await issueCertificate(authority, { ...leafOf, ...validity })).certPem;
});

function trusts(bundles: readonly (string | undefined)[]): boolean {
  const webhooks = bundles.map((pem, i) => ({
    name: `webhook-${i}`,
    clientConfig: pem === undefined ? {} : { caBundle: btoa(pem) },
  }));
  return isTrusted(readCertificates(leaf), { metadata: { name: 'envoy-initializer' }, webhooks });
}

describe('isTrusted', () => {
  test('returns true if every webhook has the authority, beside others', () => {
    expect(trusts([authority.certPem, `${other.certPem}${authority.certPem}`])).toBe(true);
  });

  test('returns true if every webhook has the certificate itself', () => {
    expect(trusts([leaf])).toBe(true);
  });

  test.each<[string, () => readonly (string | undefined)[]]>([
    ['one webhook has another authority of the same name', () => [authority.certPem, other.certPem]],
    ['one webhook has no caBundle', () => [authority.certPem, undefined]],
    ['one webhook has an invalid caBundle', () => [authority.certPem, 'rubbish']],
  ])('returns false if %s', (_, bundles) => {
    expect(trusts(bundles())).toBe(false);
  });
});
