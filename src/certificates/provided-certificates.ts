import { PROGRAM } from '../json/own-names.ts';
import { WEBHOOK_CONFIGURATIONS, type WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Informers } from '../kube/cache/shared-informers.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { type BundleTarget, observe } from './ca-bundle.ts';
import { Loop, Loops } from './loop.ts';
import type { CertificateMetrics } from './metrics.ts';
import { NamespaceOwner, ownIfAllowed } from './namespace-owner.ts';
import { type Certificate, readCertificates } from './x509/certificate.ts';
import { isTrusted } from './x509/trust.ts';

export interface ProvidedCertificatesOptions {
  /** For the leader's part: rejects requests outside of a term. */
  readonly leaderClient: Pick<KubeClient, 'get' | 'jsonPatch'>;
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  readonly log: Logger;
  readonly metrics?: CertificateMetrics;
  /** The caller runs them. */
  readonly informers: Informers;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly configurationName?: string;
}

/**
 * Certificates in files that another program, such as cert-manager, manages together with the caBundle. This class
 * writes neither. It checks whether the API server trusts the served certificate. It also makes the namespace the
 * owner of the webhook configurations, so that they are deleted with it.
 */
export class ProvidedCertificates {
  readonly #options: ProvidedCertificatesOptions;
  readonly #targets: readonly (BundleTarget & { readonly informer: Informer<WebhookConfiguration> })[];
  readonly #following: Loop;
  readonly #loops = new Loops();
  #chain: readonly Certificate[] | undefined;
  #wasTrusted = false;

  constructor(options: ProvidedCertificatesOptions) {
    const { configurationName: name = PROGRAM } = options;
    this.#options = options;
    this.#targets = WEBHOOK_CONFIGURATIONS.map((resource) => ({
      resource,
      name,
      informer: this.#informer(resource, name),
    }));
    this.#following = new Loop({ ...options, name: 'certificates', reconcile: async () => this.#report() });
  }

  /** Records the served certificate and its chain, PEM. */
  served(pem: string): void {
    this.#chain = readCertificates(pem);
    const [leaf] = this.#chain;
    if (leaf) this.#options.metrics?.expires('serving', leaf.notAfter / 1000);
    this.#loops.wake();
  }

  /** Runs every replica's part until the signal aborts. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const informers = this.#targets.map(({ informer }) => informer);
    await Promise.all([
      this.#loops.wakeWhenSynced(informers, signal),
      this.#loops.run(this.#following, signal),
    ]);
  }

  /** Runs the leader's part until the signal aborts. Call it once per term, while run() runs. */
  async lead(signal: AbortSignal): Promise<void> {
    const { leaderClient: client, namespace, log } = this.#options;
    const owner = new NamespaceOwner({ client, namespace });
    const reconcile = async (stop: AbortSignal): Promise<Result> => {
      await ownIfAllowed(owner, observe(this.#targets) ?? [], log, stop);
      return {};
    };
    const loop = new Loop({ ...this.#options, name: 'namespace-owner', reconcile });
    await this.#loops.run(loop, signal);
  }

  /** Why this replica is not ready. After the first success this stays undefined: see ManagedCertificates. */
  failure(): string | undefined {
    if (this.#wasTrusted) return undefined;
    if (this.#chain === undefined) return 'certificate files not read yet';
    const trusted = this.#isTrusted();
    if (trusted === undefined) return 'webhook configurations not synced';
    if (!trusted)
      return 'a webhook configuration does not trust the certificate of the files: write its authority into the caBundle';
    this.#wasTrusted = true;
    return undefined;
  }

  #report(): Result {
    const trusted = this.#isTrusted();
    if (trusted !== undefined) this.#options.metrics?.bundleInSync(trusted);
    return {};
  }

  /** Undefined while the served certificate or the configurations are unknown. */
  #isTrusted(): boolean | undefined {
    const chain = this.#chain;
    const seen = observe(this.#targets);
    return chain && seen?.every(({ configuration }) => isTrusted(chain, configuration));
  }

  #informer(resource: Resource<WebhookConfiguration>, name: string): Informer<WebhookConfiguration> {
    const informer = this.#options.informers.informer(resource, { fieldSelector: `metadata.name=${name}` });
    const { wake } = this.#loops;
    informer.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
    return informer;
  }
}
