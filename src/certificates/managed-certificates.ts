import type { KeyPair } from '../kube/admission/server.ts';
import { SECRETS, type Secret } from '../kube/api/core-resources.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import { PROGRAM } from '../util/identity.ts';
import { addIfUntrusted, holdsBundle } from './ca-bundle.ts';
import { CertificateController } from './certificate-controller.ts';
import { KeyPairSource } from './key-pair-source.ts';
import { defaultLifetimes, type Lifetimes } from './rotation.ts';
import { bundleOf, CertificateSecret, leafOf } from './secret.ts';
import { type Loop, WebhookTrust, type WebhookTrustOptions } from './webhook-trust.ts';
import { readCertificates } from './x509/certificate.ts';
import { type ServerNames, x509Signer } from './x509/signer.ts';

type SecretClient = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;

export interface ManagedCertificatesOptions extends WebhookTrustOptions {
  readonly client: WebhookTrustOptions['client'] & SecretClient;
  readonly leaderClient: WebhookTrustOptions['leaderClient'] & SecretClient;
  /** The names by which the API server calls the webhook. */
  readonly names: ServerNames;
  /** Called with the first key pair and each new one. The server must use it without closing connections. */
  readonly onKeyPair: (pair: KeyPair) => void;
  readonly lifetimes?: Lifetimes;
}

/** The name of the Secret with the key pair. */
export const TLS_SECRET = `${PROGRAM}-tls`;

/**
 * Certificates that the operator manages: one authority and one serving certificate for all replicas, in a Secret.
 * Every replica runs this and serves the certificate; the leader renews it.
 */
export class ManagedCertificates {
  readonly #options: ManagedCertificatesOptions;
  readonly #trust: WebhookTrust;
  readonly #secrets: Informer<Secret>;
  readonly #source: KeyPairSource;
  readonly #newController: () => CertificateController;
  readonly #following: Loop = { name: 'certificates', reconcile: (signal) => this.#follow(signal) };

  constructor(options: ManagedCertificatesOptions) {
    const { client, leaderClient, namespace, names, lifetimes = defaultLifetimes } = options;
    const secretBy = (by: SecretClient) => new CertificateSecret(by, namespace, TLS_SECRET);
    const parts = { ...options, lifetimes, signer: x509Signer(names) };
    const trust = new WebhookTrust(options);
    const source = new KeyPairSource({ ...parts, secret: secretBy(client) });
    const { own } = trust;
    const led = { ...parts, own, secret: secretBy(leaderClient), lastGood: () => source.lastGood };
    this.#options = options;
    this.#trust = trust;
    this.#secrets = trust.informer(SECRETS, TLS_SECRET, namespace);
    this.#source = source;
    this.#newController = () => new CertificateController({ ...led, bundle: trust.newBundle() });
  }

  /** Runs every replica's part until the signal aborts. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#trust.follow(this.#following, signal);
  }

  /** Runs the leader's part until the signal aborts. Call it once per term, while run() runs. */
  async lead(signal: AbortSignal): Promise<void> {
    const controller = this.#newController();
    const reconcile = (stop: AbortSignal) => controller.reconcile(stop);
    await this.#trust.run({ name: 'certificate-keeper', reconcile }, signal);
  }

  /** Why this replica is not ready: it has no certificate, or the API server does not trust it. */
  failure(): string | undefined {
    const { content, isServing } = this.#source;
    const leaf = leafOf(content);
    const why = this.#following.problem?.();
    if (!isServing) return `the Secret has no certificate yet${why === undefined ? '' : `: ${why}`}`;
    const needsTrust = content && leaf && bundleOf(content) !== undefined;
    return this.#trust.failure(
      needsTrust ? readCertificates(leaf.pem) : undefined,
      'a webhook configuration does not have our caBundle yet',
    );
  }

  async #follow(signal: AbortSignal): Promise<Result> {
    const { client, namespace, log, metrics } = this.#options;
    if (!this.#secrets.hasSynced()) return {};
    await this.#source.reconcile(this.#secrets.lister.get(`${namespace}/${TLS_SECRET}`), signal);
    const { content } = this.#source;
    const leaf = leafOf(content);
    const bundle = content && bundleOf(content);
    const seen = this.#trust.observe();
    if (content?.kind === 'provided' && bundle === undefined) metrics?.bundleInSync(true);
    if (bundle === undefined || !seen) return {};
    metrics?.bundleInSync(holdsBundle(seen, bundle));
    if (!leaf) return {};
    // The leader does not know our authorities if it serves certificates of files: then this replica adds them.
    return addIfUntrusted({ client, log }, seen, { chain: readCertificates(leaf.pem), bundle }, signal);
  }
}
