import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import {
  type CertificateAndKey,
  type CertificateRequest,
  createAuthority,
  issueCertificate,
} from '../../../src/certificates/x509/authority.ts';

/** All that a control plane and its first users prove themselves with. */
export interface Credentials {
  readonly caPem: string;
  readonly serving: CertificateAndKey;
  readonly admin: CertificateAndKey;
  readonly controllerManager: CertificateAndKey;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKeyPem: string;
  /** Signs for others that are to be known here, as a node is; valid as long as the rest. */
  readonly issue: (request: Omit<CertificateRequest, 'notBefore' | 'notAfter'>) => Promise<CertificateAndKey>;
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

/**
 * Makes an authority, whose key is kept in memory only, and what it signs: valid from an hour before `now` for a year.
 * The API server is to be reached at these IP addresses.
 */
export async function createCredentials(
  now: Date,
  ipAddresses: readonly string[] = ['127.0.0.1'],
): Promise<Credentials> {
  const validity = {
    notBefore: new Date(now.getTime() - DAY_MS / 24),
    notAfter: new Date(now.getTime() + 365 * DAY_MS),
  };
  const authority = await createAuthority({ commonName: 'envoy-initializer control plane', ...validity });
  const issue: Credentials['issue'] = (request) => issueCertificate(authority, { ...request, ...validity });
  const [serving, admin, controllerManager, serviceAccountKey] = await Promise.all([
    issue({ commonName: 'kube-apiserver', dnsNames: DNS_NAMES, ipAddresses, usage: 'server' }),
    issue({ commonName: 'kubernetes-admin', organization: ['system:masters'], usage: 'client' }),
    // The user that the built-in role binding of the same name is for.
    issue({ commonName: 'system:kube-controller-manager', usage: 'client' }),
    promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  ]);
  return {
    caPem: authority.certPem,
    serving,
    admin,
    controllerManager,
    serviceAccountKeyPem: serviceAccountKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    issue,
  };
}
