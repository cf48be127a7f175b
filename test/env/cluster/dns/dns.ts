import { join } from 'node:path';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { ensureGoProgram } from '../../go/go-program.ts';
import { pinOf } from '../../go/pins.ts';
import { CLUSTER_DOMAIN, PORTS } from '../addresses.ts';

/** Its rights in the cluster. */
export const DNS_MANIFEST = 'test/env/cluster/dns/rbac.yaml';

/** The user of its client certificate: see rbac.yaml. */
export const DNS_USER = 'system:coredns';

/** Finds CoreDNS in the cache, and first builds it, in minutes, where it is not there. Resolves to its path. */
export async function ensureDns(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const source = join(projectDirectory(), 'test', 'env', 'cluster', 'dns', 'coredns.go');
  const pin = pinOf('github.com/coredns/coredns');
  return ensureGoProgram({ name: 'coredns', package: source, pin }, env, progress);
}

/** Answers for Services, at the node's own address; of names elsewhere it knows nothing. */
export function corefile(address: string, kubeconfig: string): string {
  return `.:53 {
  bind ${address}
  ready ${address}:${PORTS.dnsReady}
  errors
  cache 5
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
    kubeconfig ${kubeconfig}
  }
}
`;
}
