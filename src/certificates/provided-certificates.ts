import type { Manager } from '../kube/manager/manager.ts';
import { addIfUntrusted, OTHERS_RECHECK_MS, trusts } from './ca-bundle.ts';
import { ownConfigurations } from './configurations.ts';
import { followFiles, type KeyPairFiles, loadAuthorities, loadKeyPair } from './files.ts';
import type { CertificateMetrics } from './metrics.ts';
import { defaultLifetimes } from './rotation.ts';
import { WebhookTrust } from './webhook-trust.ts';
import { type Certificate, readCertificates } from './x509/certificate.ts';

/**
 * Sets up certificates in files that another program, such as cert-manager, manages. The leader writes the caBundle if
 * the files have the authorities. Every replica checks whether the API server trusts the served certificate. The leader
 * also makes the namespace the owner of the webhook configurations, so that they are deleted with it.
 */
export function setUpProvidedCertificates(
  manager: Manager,
  namespace: string,
  files: KeyPairFiles & { readonly caFile: string | undefined },
  metrics: CertificateMetrics,
): void {
  const { client, leaderClient, log, webhooks } = manager;
  // Replicas read renewed files one after the other: the kubelet takes up to two minutes.
  const trust = new WebhookTrust(manager, namespace, defaultLifetimes.settleMs);
  let served: { readonly chain: readonly Certificate[]; readonly bundle: string | undefined } | undefined;
  const { certFile, keyFile, caFile } = files;
  const problem = followFiles(manager, {
    files: [certFile, keyFile, ...(caFile === undefined ? [] : [caFile])],
    async load() {
      const pair = await loadKeyPair(files);
      return { pair, bundle: caFile && (await loadAuthorities(caFile, pair.cert)) };
    },
    use({ pair, bundle }) {
      webhooks.setKeyPair(pair);
      served = { chain: readCertificates(pair.cert), bundle };
      const [leaf] = served.chain;
      if (leaf) metrics.expires('serving', leaf.notAfter / 1000);
      trust.wake();
    },
  });
  trust.leader(async (signal) => {
    const seen = trust.observe() ?? [];
    const distribution =
      served?.bundle === undefined ? undefined : await trust.bundle.distribute(seen, served.bundle, signal);
    if (distribution && distribution.heldForMs === undefined) log.info('caBundle written');
    else await ownConfigurations({ client: leaderClient, namespace, log }, seen, signal);
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
  const untrusted =
    'a webhook configuration does not trust the certificate of the files: write its authority into the caBundle';
  manager.addReadyz('certificates', () => problem() ?? trust.failure(served?.chain ?? [], untrusted));
}
