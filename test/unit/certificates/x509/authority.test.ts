import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type CertificateAndKey,
  type CertificateRequest,
  createAuthority,
  issueCertificate,
} from '../../../../src/certificates/x509/authority.ts';

const notBefore = new Date('2026-01-01T00:00:00Z');
const notAfter = new Date('2126-01-01T00:00:00Z');
const server: CertificateRequest = {
  commonName: 'envoy-initializer.default.svc',
  dnsNames: ['envoy-initializer.default.svc', 'localhost'],
  ipAddresses: ['127.0.0.1', '::1'],
  usage: 'server',
  notBefore,
  notAfter,
};

let authority: CertificateAndKey;
beforeAll(async () => {
  authority = await createAuthority({ commonName: 'test authority', notBefore, notAfter });
});

describe('an authority', () => {
  test('signs itself and may sign others', () => {
    const certificate = new X509Certificate(authority.certPem);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe('CN=test authority');
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(authority.keyPem))).toBe(true);
  });

  test('is valid for exactly the time that was asked for', () => {
    const certificate = new X509Certificate(authority.certPem);
    expect(certificate.validFromDate).toEqual(notBefore);
    expect(certificate.validToDate).toEqual(notAfter);
  });

  test('has a key of its own each time', async () => {
    const other = await createAuthority({ commonName: 'test authority', notBefore, notAfter });
    const certificate = new X509Certificate((await issueCertificate(authority, server)).certPem);
    expect(certificate.verify(new X509Certificate(other.certPem).publicKey)).toBe(false);
  });
});

describe('an issued certificate', () => {
  test('chains to its authority and carries its own key', async () => {
    const issued = await issueCertificate(authority, server);
    const certificate = new X509Certificate(issued.certPem);
    const issuer = new X509Certificate(authority.certPem);
    expect(certificate.ca).toBe(false);
    expect(certificate.checkIssued(issuer)).toBe(true);
    expect(certificate.verify(issuer.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.keyPem))).toBe(true);
    expect(certificate.serialNumber).not.toBe(issuer.serialNumber);
  });

  test('names every host and address, and no other', async () => {
    const certificate = new X509Certificate((await issueCertificate(authority, server)).certPem);
    expect(certificate.checkHost('envoy-initializer.default.svc')).toBeDefined();
    expect(certificate.checkHost('localhost')).toBeDefined();
    expect(certificate.checkHost('example.com')).toBeUndefined();
    expect(certificate.checkIP('127.0.0.1')).toBeDefined();
    expect(certificate.checkIP('::1')).toBeDefined();
    expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
  });

  test.each([
    ['server', '1.3.6.1.5.5.7.3.1'],
    ['client', '1.3.6.1.5.5.7.3.2'],
  ] as const)('of usage %s is for that only', async (usage, oid) => {
    const issued = await issueCertificate(authority, { ...server, usage });
    expect(new X509Certificate(issued.certPem).keyUsage).toEqual([oid]);
  });

  test('gives a client its user and groups, special characters included', async () => {
    const { certPem } = await issueCertificate(authority, {
      commonName: 'system:admin, the "first"',
      organization: ['system:masters', 'a+b'],
      usage: 'client',
      notBefore,
      notAfter,
    });
    const subject = new X509Certificate(certPem).toLegacyObject().subject;
    expect(subject.CN).toBe('system:admin, the "first"');
    expect(subject.O).toEqual(['system:masters', 'a+b']);
  });

  test('is refused where the authority is not a PEM certificate', async () => {
    await expect(issueCertificate({ ...authority, certPem: 'nonsense' }, server)).rejects.toThrow();
  });
});

test('a TLS connection with both sides from one authority is trusted on both sides', async () => {
  const serving = await issueCertificate(authority, server);
  const client = await issueCertificate(authority, { ...server, commonName: 'jane', usage: 'client' });
  const listener = createServer(
    { key: serving.keyPem, cert: serving.certPem, ca: authority.certPem, requestCert: true },
    (_, response) => response.end('hello'),
  ).listen(0, '127.0.0.1');
  try {
    await once(listener, 'listening');
    const call = get({
      host: '127.0.0.1',
      port: (listener.address() as AddressInfo).port,
      key: client.keyPem,
      cert: client.certPem,
      ca: authority.certPem,
      agent: false,
    });
    const [response] = await once(call, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
  } finally {
    listener.close();
  }
});
