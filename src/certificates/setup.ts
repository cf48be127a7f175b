import type { Manager } from '../kube/manager/manager.ts';
import { PROGRAM } from '../util/identity.ts';
import { followFiles, loadClientAuthorities } from './files.ts';
import { setUpManagedCertificates } from './managed-certificates.ts';
import { certificateMetrics } from './metrics.ts';
import { setUpProvidedCertificates } from './provided-certificates.ts';
import { serverNames } from './x509/signer.ts';

/** The flags of `serve` for certificates. */
export interface CertificateOptions {
  readonly namespace: string;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly tlsCaFile: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly webhookUrl: string | undefined;
}

/** Sets up the webhook's certificates: managed by the operator, or provided in files. */
export function setUpCertificates(manager: Manager, options: CertificateOptions): void {
  const { namespace, tlsCertFile, tlsKeyFile, tlsCaFile: caFile, clientCaFile, webhookUrl } = options;
  if (clientCaFile !== undefined) {
    const problem = followFiles(manager, {
      files: [clientCaFile],
      load: () => loadClientAuthorities(clientCaFile),
      use: (authorities) => manager.webhooks.setClientAuthorities(authorities),
    });
    manager.addReadyz('client-authorities', problem);
  }
  const metrics = certificateMetrics(manager.registry);
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const files = { certFile: tlsCertFile, keyFile: tlsKeyFile, caFile };
    setUpProvidedCertificates(manager, namespace, files, metrics);
  } else {
    const names = serverNames({ service: PROGRAM, namespace, webhookUrl });
    setUpManagedCertificates(manager, namespace, names, metrics);
  }
}
