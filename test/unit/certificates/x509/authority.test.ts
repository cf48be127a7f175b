import { X509Certificate } from 'node:crypto';
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

describe('issueCertificate', () => {
  test('includes exactly the requested hosts and addresses', async () => {
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
  ] as const)('allows only the requested usage: %s', async (usage, oid) => {
    const issued = await issueCertificate(authority, { ...server, usage });
    expect(new X509Certificate(issued.certPem).keyUsage).toEqual([oid]);
  });
});

test('both sides of a TLS connection trust certificates of one authority', async () => {
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
