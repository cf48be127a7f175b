import { isConflict } from '../kube/api/api-error.ts';
import type { Result } from '../kube/controller/controller.ts';
import { addIfUntrusted, type CaBundle, OTHERS_RECHECK_MS, trusts } from './ca-bundle.ts';
import { defaultLifetimes } from './rotation.ts';
import { WebhookTrust, type WebhookTrustOptions } from './webhook-trust.ts';
import { type Certificate, readCertificates } from './x509/certificate.ts';

export interface ProvidedCertificatesOptions extends WebhookTrustOptions {
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
  readonly #trust: WebhookTrust;
  #chain: readonly Certificate[] | undefined;
  #authorities: string | undefined;

  constructor(options: ProvidedCertificatesOptions) {
    this.#options = options;
    this.#trust = new WebhookTrust(options);
  }

  /** Records the served certificate with its chain and authorities. */
  served({ cert, authorities }: ProvidedFiles): void {
    this.#chain = readCertificates(cert);
    this.#authorities = authorities;
    const [leaf] = this.#chain;
    if (leaf) this.#options.metrics?.expires('serving', leaf.notAfter / 1000);
    this.#trust.wake();
  }

  /** Runs every replica's part until the signal aborts. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const reconcile = (stop: AbortSignal) => this.#follow(stop);
    await this.#trust.follow({ name: 'certificates', reconcile }, signal);
  }

  /** Runs the leader's part until the signal aborts. Call it once per term, while run() runs. */
  async lead(signal: AbortSignal): Promise<void> {
    // Replicas read renewed files one after the other: the kubelet takes up to two minutes.
    const { holdMs = defaultLifetimes.settleMs } = this.#options;
    const bundle = this.#trust.newBundle(holdMs);
    const reconcile = (stop: AbortSignal) => this.#keep(bundle, stop);
    await this.#trust.run({ name: 'ca-bundle', reconcile }, signal);
  }

  /** Why this replica is not ready. */
  failure(): string | undefined {
    if (this.#chain === undefined) return 'certificate files not read yet';
    const untrusted =
      'a webhook configuration does not trust the certificate of the files: write its authority into the caBundle';
    return this.#trust.failure(this.#chain, untrusted);
  }

  async #keep(bundle: CaBundle, signal: AbortSignal): Promise<Result> {
    const seen = bundle.observe() ?? [];
    const authorities = this.#authorities;
    try {
      const distribution =
        authorities === undefined ? undefined : await bundle.distribute(seen, authorities, signal);
      if (distribution && distribution.heldForMs === undefined) this.#options.log.info('caBundle written');
      else await this.#trust.own(seen, signal);
      return distribution?.keepsOthers ? { requeueAfterMs: OTHERS_RECHECK_MS } : {};
    } catch (error) {
      if (!isConflict(error)) throw error;
      return { requeueAfterMs: 0 };
    }
  }

  async #follow(signal: AbortSignal): Promise<Result> {
    const seen = this.#trust.observe();
    const [chain, bundle] = [this.#chain, this.#authorities];
    if (!chain || !seen) return {};
    this.#options.metrics?.bundleInSync(trusts(seen, chain));
    // A leader with the operator's own certificates does not know these authorities.
    return bundle === undefined ? {} : addIfUntrusted(this.#options, seen, { chain, bundle }, signal);
  }
}
