import { SECRETS } from '../kube/api/core-resources.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { PROGRAM } from '../util/identity.ts';
import { addIfUntrusted, holdsBundle } from './ca-bundle.ts';
import { CertificateController } from './certificate-controller.ts';
import { ownConfigurations } from './configurations.ts';
import { KeyPairSource } from './key-pair-source.ts';
import type { CertificateMetrics } from './metrics.ts';
import { defaultLifetimes as lifetimes } from './rotation.ts';
import { bundleOf, CertificateSecret } from './secret.ts';
import { WebhookTrust } from './webhook-trust.ts';
import { readCertificates } from './x509/certificate.ts';
import { type ServerNames, x509Signer } from './x509/signer.ts';

/** The name of the Secret with the key pair. */
const TLS_SECRET = `${PROGRAM}-tls`;

/**
 * Sets up certificates that the operator manages: one authority and one serving certificate for all replicas, in a
 * Secret. Every replica serves the certificate; the leader renews it.
 */
export function setUpManagedCertificates(
  manager: Manager,
  namespace: string,
  names: ServerNames,
  metrics: CertificateMetrics,
): void {
  const { client, leaderClient, log, webhooks } = manager;
  const trust = new WebhookTrust(manager, namespace, 0);
  const secrets = trust.informer(SECRETS, TLS_SECRET, namespace);
  const parts = { signer: x509Signer(names), lifetimes, wallClock: Date.now, log, metrics };
  const source = new KeyPairSource({
    ...parts,
    secret: new CertificateSecret(client, namespace, TLS_SECRET),
    onKeyPair: (pair) => webhooks.setKeyPair(pair),
  });
  const keeper = new CertificateController({
    ...parts,
    secret: new CertificateSecret(leaderClient, namespace, TLS_SECRET),
    own: (seen, signal) => ownConfigurations({ client: leaderClient, namespace, log }, seen, signal),
    bundle: trust.bundle,
    lastGood: () => source.lastGood,
  });
  trust.leader(keeper.reconcile);
  trust.everyReplica(async (signal) => {
    await source.reconcile(secrets.lister.get(`${namespace}/${TLS_SECRET}`), signal);
    const { leaf } = source.material ?? {};
    const bundle = source.material && bundleOf(source.material);
    const seen = trust.observe();
    if (bundle === undefined || !seen) return {};
    metrics.bundleInSync(holdsBundle(seen, bundle));
    if (!leaf) return {};
    // The leader does not know our authorities if it serves certificates of files: then this replica adds them.
    return addIfUntrusted({ client, log }, seen, { chain: readCertificates(leaf.pem), bundle }, signal);
  });
  manager.addReadyz('certificates', () => {
    const { serving } = source;
    const why = trust.problem === undefined ? '' : `: ${trust.problem}`;
    if (!serving) return `the Secret has no certificate yet${why}`;
    const untrusted = 'a webhook configuration does not have the caBundle of the operator yet';
    return trust.failure(readCertificates(serving.pem), untrusted);
  });
}
