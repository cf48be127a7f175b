import { SECRETS } from '../kube/api/core-resources.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { addIfUntrusted, holdsBundle, OTHERS_RECHECK_MS } from './ca-bundle.ts';
import { type CertificateParts, keyPairSource } from './key-pair-source.ts';
import type { CertificateMetrics } from './metrics.ts';
import { type KeyMaterial, defaultLifetimes as lifetimes, plan, renew, replacement } from './rotation.ts';
import {
  bundleOf,
  type CertificateSecret,
  certificateSecret,
  type StoredContent,
  TLS_SECRET,
} from './secret.ts';
import { setUpWebhookTrust, type WebhookTrust } from './webhook-trust.ts';
import { readCertificates } from './x509/certificate.ts';
import { type ServerNames, x509Signer } from './x509/signer.ts';

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
  const trust = setUpWebhookTrust(manager, namespace, 0);
  const secrets = trust.informerOf(SECRETS, TLS_SECRET, namespace);
  const parts = { signer: x509Signer(names), lifetimes, wallClock: Date.now, log, metrics };
  const source = keyPairSource({
    ...parts,
    secret: certificateSecret(client, namespace),
    onKeyPair: (pair) => webhooks.setKeyPair(pair),
  });
  const keeper = certificateKeeper({
    ...parts,
    secret: certificateSecret(leaderClient, namespace),
    trust,
    lastGood: source.lastGood,
  });
  trust.leader(keeper);
  trust.everyReplica(async (signal) => {
    const material = await source.reconcile(secrets.lister.get(`${namespace}/${TLS_SECRET}`), signal);
    const bundle = material && bundleOf(material);
    const seen = trust.observe();
    if (bundle === undefined || !seen) return {};
    metrics.bundleInSync(holdsBundle(seen, bundle));
    if (!material?.leaf) return {};
    // The leader does not know our authorities if it serves certificates of files: then this replica adds them.
    const chain = readCertificates(material.leaf.pem);
    return addIfUntrusted({ client, log }, seen, { chain, bundle }, signal);
  });
  manager.addReadyz('certificates', () => {
    const serving = source.serving();
    const problem = trust.problem();
    const why = problem === undefined ? '' : `: ${problem}`;
    if (!serving) return `no certificate to serve yet${why}`;
    const untrusted = "a webhook configuration does not have the operator's caBundle yet";
    return trust.failure(readCertificates(serving.pem), untrusted);
  });
}

export interface CertificateKeeperOptions extends CertificateParts {
  readonly secret: Pick<CertificateSecret, 'read' | 'replace'>;
  readonly trust: Pick<WebhookTrust, 'observe' | 'distribute'>;
  /** The last undamaged content of the Secret that this replica has seen. */
  readonly lastGood: () => KeyMaterial | undefined;
}

/** Longest time between reconciles: timers stop while a machine sleeps, and its wall clock may change. */
const RECHECK_MS = 3_600_000;

/**
 * The leader's part: renews the certificates and keeps the caBundle in sync. Takes at most one step of each kind. Its
 * writes trigger the next reconcile through the caches.
 */
export function certificateKeeper(options: CertificateKeeperOptions) {
  const { secret, trust } = options;
  return async (signal: AbortSignal): Promise<Result> => {
    // The order matters: see CaBundle.
    const seen = trust.observe();
    const stored = await secret.read(signal);
    // Any replica creates it, which triggers the next reconcile.
    if (!stored) return {};
    const bundle = 'material' in stored.content ? bundleOf(stored.content.material) : undefined;
    const [distributed] = await Promise.allSettled([seen && trust.distribute(seen, bundle, signal)]);
    const distribution = distributed.status === 'fulfilled' ? distributed.value : undefined;
    // Even if a webhook configuration cannot be written, the leaf must not expire.
    const result = await renewDue(options, stored, distribution?.heldForMs, signal);
    if (distributed.status === 'rejected') throw distributed.reason;
    if (!distribution?.keepsOthers) return result;
    return { requeueAfterMs: Math.min(OTHERS_RECHECK_MS, result.requeueAfterMs ?? Number.POSITIVE_INFINITY) };
  };
}

async function renewDue(
  { secret, signer, lifetimes, wallClock, lastGood, log, metrics }: CertificateKeeperOptions,
  { content, resourceVersion }: StoredContent,
  distributedForMs: number | undefined,
  signal: AbortSignal,
): Promise<Result> {
  if (!('material' in content)) return { requeueAfterMs: RECHECK_MS };
  const { material, damage } = content;
  const context = { signer, lifetimes, now: wallClock() };
  const leafLacksNames = material.leaf !== undefined && !signer.isUpToDate(material.leaf);
  const step = plan({ material, distributedForMs, leafLacksNames, ...context });
  if (step.do === 'wait') {
    const leftMs = (step.until ?? Number.POSITIVE_INFINITY) - context.now;
    return { requeueAfterMs: Math.max(1, Math.min(leftMs, RECHECK_MS)) };
  }
  const renewed =
    step.do === 'start-over'
      ? await replacement(lastGood(), context)
      : await renew(step.do, material, context);
  await secret.replace(renewed, resourceVersion, signal);
  const expires = renewed.leaf && new Date(renewed.leaf.notAfter);
  if (damage.length > 0) log.warn({ damage, step: step.do, expires }, 'damaged certificates repaired');
  else log.info({ step: step.do, expires }, 'certificates renewed');
  if (step.do === 'issue-leaf' || step.do === 'promote-authority') metrics.rotated('serving');
  if (step.do === 'promote-authority') metrics.rotated('authority');
  return { requeueAfterMs: RECHECK_MS };
}
