import {
  SECRETS,
  type Secret,
  WEBHOOK_CONFIGURATIONS,
  type WebhookConfiguration,
} from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Informers } from '../kube/cache/shared-informers.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { PROGRAM } from '../util/own-names.ts';
import { addIfUntrusted, type BundleTarget, CaBundle, holdsBundle } from './ca-bundle.ts';
import { CertificateController, trusted } from './certificate-controller.ts';
import { CertificateSecret, type CertificateSecretOptions } from './certificate-secret.ts';
import { isRollingOut } from './generations.ts';
import { type KeyPair, KeyPairSource, leafOf } from './key-pair-source.ts';
import { Loop, Loops } from './loop.ts';
import type { CertificateMetrics } from './metrics.ts';
import { TLS_SECRET } from './names.ts';
import { NamespaceOwner } from './namespace-owner.ts';
import { readCertificates } from './x509/certificate.ts';
import { defaultLifetimes, type Lifetimes } from './x509/lifetimes.ts';
import type { ServerNames } from './x509/server-names.ts';
import { isTrusted } from './x509/trust.ts';
import { x509Signer } from './x509/x509-signer.ts';

export interface ManagedCertificatesOptions {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'mergePatch' | 'jsonPatch'>;
  /** For the leader's part: rejects requests outside of a term. */
  readonly leaderClient: Pick<KubeClient, 'get' | 'create' | 'mergePatch' | 'jsonPatch'>;
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  readonly log: Logger;
  readonly metrics?: CertificateMetrics;
  /** The caller runs them. */
  readonly informers: Informers;
  /** The operator's namespace. */
  readonly namespace: string;
  /** The names by which the API server calls the webhook. */
  readonly names: ServerNames;
  /** Called with the first key pair and each new one. The server must use it without closing connections. */
  readonly onKeyPair: (pair: KeyPair) => void;
  readonly secretName?: string;
  readonly configurationName?: string;
  readonly lifetimes?: Lifetimes;
}

/**
 * Certificates that the operator manages: one authority and one serving certificate for all replicas, in a Secret.
 * Every replica runs this and serves the certificate; the leader renews it.
 */
export class ManagedCertificates {
  readonly #options: ManagedCertificatesOptions;
  readonly #secrets: Informer<Secret>;
  readonly #configurations: readonly (BundleTarget & { readonly informer: Informer<WebhookConfiguration> })[];
  readonly #bundle: CaBundle;
  readonly #source: KeyPairSource;
  readonly #following: Loop;
  readonly #newController: () => CertificateController;
  /** One while this replica leads; two for a moment if it leads again before its last term has ended. */
  readonly #loops = new Loops();
  #wasTrusted = false;

  constructor(options: ManagedCertificatesOptions) {
    const { client, leaderClient, namespace, names, lifetimes = defaultLifetimes } = options;
    const { secretName = TLS_SECRET, configurationName: name = PROGRAM } = options;
    const secretBy = (by: CertificateSecretOptions['client']) =>
      new CertificateSecret({ client: by, namespace, name: secretName });
    const parts = { ...options, lifetimes, signer: x509Signer(names) };
    this.#options = options;
    this.#secrets = this.#informer(SECRETS, secretName, namespace);
    this.#configurations = WEBHOOK_CONFIGURATIONS.map((resource) => {
      return { resource, name, informer: this.#informer(resource, name) };
    });
    const newBundle = () =>
      new CaBundle({
        ...options,
        client: leaderClient,
        targets: this.#configurations,
        isRollingOut: (signal) => isRollingOut(client, namespace, signal),
      });
    this.#bundle = newBundle();
    this.#source = new KeyPairSource({ ...parts, secret: secretBy(client) });
    const owner = new NamespaceOwner({ client: leaderClient, namespace });
    const led = { ...parts, secret: secretBy(leaderClient), owner, lastGood: () => this.#source.lastGood };
    this.#newController = () => new CertificateController({ ...led, bundle: newBundle() });
    const following = (signal: AbortSignal) => this.#follow(`${namespace}/${secretName}`, signal);
    this.#following = new Loop({ ...options, name: 'certificates', reconcile: following });
  }

  /** Runs every replica's part until the signal aborts. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const informers = [this.#secrets, ...this.#configurations.map(({ informer }) => informer)];
    await Promise.all([
      this.#loops.wakeWhenSynced(informers, signal),
      this.#loops.run(this.#following, signal),
    ]);
  }

  /** Runs the leader's part until the signal aborts. Call it once per term, while run() runs. */
  async lead(signal: AbortSignal): Promise<void> {
    // Each term measures itself for how long the caBundle has been in place.
    const controller = this.#newController();
    const reconcile = (stop: AbortSignal) => controller.reconcile(stop);
    const loop = new Loop({ ...this.#options, name: 'certificate-keeper', reconcile });
    await this.#loops.run(loop, signal);
  }

  /**
   * Why this replica is not ready: it has no certificate, or the API server does not trust it. After the first
   * success this stays undefined: failing readiness would not help, because all replicas are affected.
   */
  failure(): string | undefined {
    if (this.#wasTrusted) return undefined;
    const why = this.#following.problem;
    if (!this.#source.isServing)
      return `the Secret has no certificate yet${why === undefined ? '' : `: ${why}`}`;
    const trusted = this.#isTrusted();
    if (trusted === undefined) return 'webhook configurations not synced';
    if (!trusted) return 'a webhook configuration does not have our caBundle yet';
    this.#wasTrusted = true;
    return undefined;
  }

  async #follow(key: string, signal: AbortSignal): Promise<Result> {
    if (!this.#secrets.hasSynced()) return {};
    await this.#source.reconcile(this.#secrets.lister.get(key), signal);
    const inSync = this.#isInSync();
    if (inSync !== undefined) this.#options.metrics?.bundleInSync(inSync);
    return this.#addAuthorities(signal);
  }

  /** The leader does not know our authorities if it serves certificates of files: then this replica adds them. */
  async #addAuthorities(signal: AbortSignal): Promise<Result> {
    const { client, log } = this.#options;
    const { content } = this.#source;
    const leaf = leafOf(content);
    const bundle = content && trusted(content);
    const seen = this.#bundle.observe();
    if (!leaf || bundle === undefined || !seen) return {};
    return addIfUntrusted({ client, log }, seen, { chain: readCertificates(leaf.pem), bundle }, signal);
  }

  /** Undefined while the served certificate or the configurations are unknown. */
  #isTrusted(): boolean | undefined {
    const { content } = this.#source;
    const leaf = leafOf(content);
    if (!content || !leaf) return undefined;
    if (trusted(content) === undefined) return true;
    const chain = readCertificates(leaf.pem);
    return this.#bundle.observe()?.every(({ configuration }) => isTrusted(chain, configuration));
  }

  /** Whether all configurations hold all our authorities; undefined while one is unknown. */
  #isInSync(): boolean | undefined {
    const { content } = this.#source;
    if (!content || content.kind === 'unusable') return undefined;
    const bundle = trusted(content);
    if (bundle === undefined) return true;
    const seen = this.#bundle.observe();
    return seen && holdsBundle(seen, bundle);
  }

  #informer<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Informer<T> {
    const informer = this.#options.informers.informer(resource, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
    });
    const { wake } = this.#loops;
    informer.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
    return informer;
  }
}
