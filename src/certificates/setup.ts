import type { Manager } from '../kube/manager/manager.ts';
import { addIfUntrusted, OTHERS_RECHECK_MS, trusts } from './ca-bundle.ts';
import {
  followFiles,
  type KeyPairFiles,
  loadAuthorities,
  loadClientAuthorities,
  loadKeyPair,
} from './files.ts';
import { setUpManagedCertificates } from './managed-certificates.ts';
import { type CertificateMetrics, certificateMetrics } from './metrics.ts';
import { defaultLifetimes } from './rotation.ts';
import { setUpWebhookTrust } from './webhook-trust.ts';
import { type Certificate, readCertificates } from './x509/certificate.ts';
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
    const load = () => loadClientAuthorities(clientCaFile);
    const use = (authorities: string) => manager.webhooks.setClientAuthorities(authorities);
    manager.addReadyz('client-authorities', followFiles(manager, [clientCaFile], load, use));
  }
  const metrics = certificateMetrics(manager.registry);
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const files = { certFile: tlsCertFile, keyFile: tlsKeyFile, caFile };
    setUpProvidedCertificates(manager, namespace, files, metrics);
  } else {
    setUpManagedCertificates(manager, namespace, serverNames(namespace, webhookUrl), metrics);
  }
}

/**
 * Sets up certificates in files that another program, such as cert-manager, manages. The leader writes the caBundle if
 * the files have the authorities. Every replica checks whether the API server trusts the served certificate.
 */
function setUpProvidedCertificates(
  manager: Manager,
  namespace: string,
  files: KeyPairFiles & { readonly caFile: string | undefined },
  metrics: CertificateMetrics,
): void {
  const { client, log, webhooks } = manager;
  // Replicas read renewed files one after the other: the kubelet takes up to two minutes.
  const trust = setUpWebhookTrust(manager, namespace, defaultLifetimes.settleMs);
  let served: { readonly chain: readonly Certificate[]; readonly bundle: string | undefined } | undefined;
  const { certFile, keyFile, caFile } = files;
  const paths = [certFile, keyFile, ...(caFile === undefined ? [] : [caFile])];
  const load = async () => {
    const pair = await loadKeyPair(files);
    return { pair, bundle: caFile && (await loadAuthorities(caFile, pair.cert)) };
  };
  const problem = followFiles(manager, paths, load, ({ pair, bundle }) => {
    webhooks.setKeyPair(pair);
    served = { chain: readCertificates(pair.cert), bundle };
    const [leaf] = served.chain;
    if (leaf) metrics.expires('serving', leaf.notAfter / 1000);
    trust.wake();
  });
  trust.leader(async (signal) => {
    const seen = trust.observe() ?? [];
    const distribution = await trust.distribute(seen, served?.bundle, signal);
    return distribution?.keepsOthers ? { requeueAfterMs: OTHERS_RECHECK_MS } : {};
  });
  trust.everyReplica(async (signal) => {
    const seen = trust.observe();
    if (!served || !seen) return {};
    const { chain, bundle } = served;
    metrics.bundleInSync(trusts(seen, chain));
    // A leader with the operator's own certificates does not know these authorities.
    return bundle === undefined ? {} : addIfUntrusted({ client, log }, seen, { chain, bundle }, signal);
  });
  const untrusted = 'a webhook configuration does not trust --tls-cert-file: add its CA to the caBundle';
  manager.addReadyz('certificates', () => problem() ?? trust.failure(served?.chain ?? [], untrusted));
}
