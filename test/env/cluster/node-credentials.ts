import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';
import type { Credentials } from '../control-plane/credentials.ts';
import { DNS_USER } from './dns/dns.ts';

/** What the parts of a node prove themselves with, to the API server and to each other. */
export interface NodeCredentials {
  readonly kubelet: CertificateAndKey;
  readonly kubeProxy: CertificateAndKey;
  readonly scheduler: CertificateAndKey;
  readonly dns: CertificateAndKey;
  /** The API server's own, towards the kubelet. */
  readonly kubeletClient: CertificateAndKey;
  /** For what is served at the node's address. */
  readonly serving: CertificateAndKey;
}

/** Issues them, with the names that the API server's Node authorizer and built-in role bindings know. */
export async function createNodeCredentials(
  { issue }: Credentials,
  name: string,
  address: string,
): Promise<NodeCredentials> {
  const [kubelet, kubeProxy, scheduler, dns, kubeletClient, serving] = await Promise.all([
    issue({ commonName: `system:node:${name}`, organization: ['system:nodes'], usage: 'client' }),
    issue({ commonName: 'system:kube-proxy', usage: 'client' }),
    issue({ commonName: 'system:kube-scheduler', usage: 'client' }),
    issue({ commonName: DNS_USER, usage: 'client' }),
    issue({
      commonName: 'kube-apiserver-kubelet-client',
      organization: ['system:masters'],
      usage: 'client',
    }),
    issue({ commonName: name, dnsNames: [name], ipAddresses: [address], usage: 'server' }),
  ]);
  return { kubelet, kubeProxy, scheduler, dns, kubeletClient, serving };
}
