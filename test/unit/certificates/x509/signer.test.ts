// Before @peculiar/x509, which requires this polyfill.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { PemConverter, X509Certificate, X509CertificateGenerator } from '@peculiar/x509';
import { issueCertificate } from '../../../../src/certificates/x509/authority.ts';
import {
  type Certificate,
  type CertifiedKey,
  isIssuedBy,
  readCertificates,
  readCertifiedKey,
} from '../../../../src/certificates/x509/certificate.ts';
import { serverNames, x509Signer } from '../../../../src/certificates/x509/signer.ts';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
const names = { dnsNames: ['envoy-initializer.mesh.svc'], ipAddresses: ['127.0.0.1', 'fd00::1'] };
const signer = x509Signer(names);

let authority: CertifiedKey;
let leaf: CertifiedKey;
beforeAll(async () => {
  authority = await signer.authority(validity);
  leaf = await signer.leaf(authority, validity);
});

/** As simple tools create them: only the issuer's name identifies the authority. */
async function leafWithoutKeyIdentifier({ pem, keyPem }: CertifiedKey): Promise<Certificate> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const { publicKey } = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const key = PemConverter.decodeFirst(keyPem);
  const certificate = await X509CertificateGenerator.create(
    {
      subject: 'CN=leaf',
      issuer: new X509Certificate(pem).subjectName,
      publicKey,
      signingKey: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      ...validity,
    },
    webcrypto,
  );
  const [read] = readCertificates(certificate.toString('pem'));
  if (!read) throw new Error('there is one');
  return read;
}

test('readCertificates returns each certificate of a bundle, with times in milliseconds', () => {
  const bundle = readCertificates(`# a comment\n${authority.pem}\n${leaf.pem}`);
  expect(bundle.map(({ fingerprint }) => fingerprint)).toEqual([authority.fingerprint, leaf.fingerprint]);
  expect(bundle[0]).toMatchObject({
    notBefore: validity.notBefore.getTime(),
    notAfter: validity.notAfter.getTime(),
  });
});

test.each([
  ['no certificate', '', 'expected PEM certificates'],
  ['a key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', 'expected PEM certificates'],
  ['an invalid certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'asn1'],
])('readCertificates throws for %s', (_, pem, message) => {
  expect(() => readCertificates(pem)).toThrow(message);
});

test('readCertifiedKey throws for the key of another certificate', () => {
  expect(() => readCertifiedKey(leaf.pem, authority.keyPem)).toThrow('got the key of another one');
});

test('a leaf is issued only by its authority, not by another one or a leaf', async () => {
  const stranger = await signer.authority(validity);
  expect(isIssuedBy(leaf, authority)).toBe(true);
  expect(isIssuedBy(leaf, stranger)).toBe(false);
  expect(isIssuedBy(leaf, leaf)).toBe(false);
});

test('a leaf is not issued by another authority of the same name', async () => {
  const stranger = await signer.authority(validity);
  const unmarked = await leafWithoutKeyIdentifier(authority);
  expect(isIssuedBy(unmarked, authority)).toBe(true);
  expect(isIssuedBy(unmarked, stranger)).toBe(false);
});

test('a leaf does not have a name that is only in its subject', async () => {
  const [commonName = ''] = names.dnsNames;
  const issuer = { certPem: authority.pem, keyPem: authority.keyPem };
  const { certPem } = await issueCertificate(issuer, { commonName, usage: 'server', ...validity });
  const [certificate = leaf] = readCertificates(certPem);
  expect(x509Signer({ ...names, ipAddresses: [] }).isUpToDate({ ...leaf, ...certificate })).toBe(false);
});

test.each([
  ['no URL', undefined, [], []],
  ['an IPv4 address', 'https://127.0.0.1:8443/inject', [], ['127.0.0.1']],
  ['an IPv6 address', 'https://[fd00::1]:8443', [], ['fd00::1']],
  ['a host name', 'https://Laptop.example:8443', ['laptop.example'], []],
])(
  'the certificate of a server has the names of its Service and those of %s',
  (_, webhookUrl, dnsNames, ipAddresses) => {
    const ofService = ['', '.mesh', '.mesh.svc', '.mesh.svc.cluster.local'].map(
      (end) => `envoy-initializer${end}`,
    );
    expect(serverNames('mesh', webhookUrl)).toEqual({
      dnsNames: [...ofService, ...dnsNames],
      ipAddresses,
    });
  },
);
