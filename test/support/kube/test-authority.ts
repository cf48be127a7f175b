import {
  type CertificateAndKey,
  createAuthority,
  issueCertificate,
} from '../../../src/certificates/x509/authority.ts';

export interface TestAuthority {
  readonly caPem: string;
  server(): Promise<CertificateAndKey>;
  client(commonName: string, organization?: string): Promise<CertificateAndKey>;
}

const HOUR_MS = 3_600_000;

/** An authority for one test: certificates for servers on loopback, and for clients. */
export async function testAuthority(): Promise<TestAuthority> {
  const validity = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  const authority = await createAuthority({ commonName: 'test authority', ...validity });
  return {
    caPem: authority.certPem,
    server: () =>
      issueCertificate(authority, {
        commonName: 'test server',
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
        usage: 'server',
        ...validity,
      }),
    client: (commonName, organization) =>
      issueCertificate(authority, {
        commonName,
        ...(organization && { organization: [organization] }),
        usage: 'client',
        ...validity,
      }),
  };
}
