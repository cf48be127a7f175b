import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { type CertificateAndKey, createAuthority, issueCertificate } from '../../src/tls/authority.ts';

/** All that a control plane and its first users prove themselves with. */
export interface Credentials {
  readonly caPem: string;
  readonly serving: CertificateAndKey;
  readonly admin: CertificateAndKey;
  readonly controllerManager: CertificateAndKey;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKeyPem: string;
}

const DAY_MS = 86_400_000;
/** What a client may call the API server by, as kubeadm lists it. */
const DNS_NAMES = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** Makes an authority, forgets its key, and keeps what it signed: valid from an hour before `now` for a year. */
export async function createCredentials(now: Date): Promise<Credentials> {
  const validity = {
    notBefore: new Date(now.getTime() - DAY_MS / 24),
    notAfter: new Date(now.getTime() + 365 * DAY_MS),
  };
  const authority = await createAuthority({ commonName: 'envoy-initializer control plane', ...validity });
  const [serving, admin, controllerManager, serviceAccountKey] = await Promise.all([
    issueCertificate(authority, {
      commonName: 'kube-apiserver',
      dnsNames: DNS_NAMES,
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      ...validity,
    }),
    issueCertificate(authority, {
      commonName: 'kubernetes-admin',
      organization: ['system:masters'],
      usage: 'client',
      ...validity,
    }),
    // The user that the built-in role binding of the same name is for.
    issueCertificate(authority, {
      commonName: 'system:kube-controller-manager',
      usage: 'client',
      ...validity,
    }),
    promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  ]);
  return {
    caPem: authority.certPem,
    serving,
    admin,
    controllerManager,
    serviceAccountKeyPem: serviceAccountKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
