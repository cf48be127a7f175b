import { isConflict } from '../kube/api/api-error.ts';
import { WEBHOOK_CONFIGURATIONS, type WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Informers } from '../kube/cache/shared-informers.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { PROGRAM } from '../util/own-names.ts';
import { addIfUntrusted, type BundleTarget, CaBundle, OTHERS_RECHECK_MS, observe } from './ca-bundle.ts';
import { isRollingOut } from './generations.ts';
import { Loop, Loops } from './loop.ts';
import type { CertificateMetrics } from './metrics.ts';
import { NamespaceOwner, ownIfAllowed } from './namespace-owner.ts';
import { type Certificate, readCertificates } from './x509/certificate.ts';
import { defaultLifetimes } from './x509/lifetimes.ts';
import { isTrusted } from './x509/trust.ts';

export interface ProvidedCertificatesOptions {
  readonly client: Pick<KubeClient, 'list' | 'jsonPatch'>;
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
  /** For how long other authorities stay after a rollout, in milliseconds. */
  readonly holdMs?: number;
}

/** What the files hold, PEM. Without authorities, another program writes the caBundle. */
export interface ProvidedFiles {
  readonly cert: string;
  readonly authorities: string | undefined;
}

/**
 * Certificates in files that another program, such as cert-manager, manages. The leader writes the caBundle if the
 * files have the authorities. Every replica checks whether the API server trusts the served certificate. The leader
 * also makes the namespace the owner of the webhook configurations, so that they are deleted with it.
 */
export class ProvidedCertificates {
  readonly #options: ProvidedCertificatesOptions;
  readonly #targets: readonly (BundleTarget & { readonly informer: Informer<WebhookConfiguration> })[];
  readonly #following: Loop;
  readonly #loops = new Loops();
  readonly #newBundle: () => CaBundle;
  #chain: readonly Certificate[] | undefined;
  #authorities: string | undefined;
  #wasTrusted = false;

  constructor(options: ProvidedCertificatesOptions) {
    const { configurationName: name = PROGRAM } = options;
    this.#options = options;
    this.#targets = WEBHOOK_CONFIGURATIONS.map((resource) => ({
      resource,
      name,
      informer: this.#informer(resource, name),
    }));
    this.#newBundle = () =>
      new CaBundle({
        // Replicas read renewed files one after the other: the kubelet takes up to two minutes.
        holdMs: defaultLifetimes.settleMs,
        ...options,
        client: options.leaderClient,
        targets: this.#targets,
        isRollingOut: (signal) => isRollingOut(options.client, options.namespace, signal),
      });
    const reconcile = (signal: AbortSignal) => this.#follow(signal);
    this.#following = new Loop({ ...options, name: 'certificates', reconcile });
  }

  /** Records the served certificate with its chain and authorities. */
  served({ cert, authorities }: ProvidedFiles): void {
    this.#chain = readCertificates(cert);
    this.#authorities = authorities;
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
    const bundle = this.#newBundle();
    const reconcile = async (stop: AbortSignal): Promise<Result> => {
      const seen = observe(this.#targets) ?? [];
      const authorities = this.#authorities;
      const distribution =
        authorities === undefined ? undefined : await bundle.distribute(seen, authorities, stop);
      if (distribution && distribution.heldForMs === undefined) log.info('caBundle written');
      else await ownIfAllowed(owner, seen, log, stop);
      return distribution?.keepsOthers ? { requeueAfterMs: OTHERS_RECHECK_MS } : {};
    };
    const loop = new Loop({ ...this.#options, name: 'ca-bundle', reconcile: retryingConflicts(reconcile) });
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

  async #follow(signal: AbortSignal): Promise<Result> {
    const trusted = this.#isTrusted();
    if (trusted !== undefined) this.#options.metrics?.bundleInSync(trusted);
    const seen = observe(this.#targets);
    const [chain, bundle] = [this.#chain, this.#authorities];
    // A leader with the operator's own certificates does not know these authorities.
    if (chain && bundle !== undefined && seen)
      return addIfUntrusted(this.#options, seen, { chain, bundle }, signal);
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

function retryingConflicts(reconcile: (signal: AbortSignal) => Promise<Result>) {
  return async (signal: AbortSignal): Promise<Result> => {
    try {
      return await reconcile(signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      return { requeueAfterMs: 0 };
    }
  };
}
