import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import { type CaBundle, type Distribution, OTHERS_RECHECK_MS } from './ca-bundle.ts';
import type { SeenConfiguration } from './configurations.ts';
import type { CertificateMetrics } from './metrics.ts';
import { type KeyMaterial, type Lifetimes, plan, renew, replacement } from './rotation.ts';
import { bundleOf, type CertificateSecret, type SecretContent, type StoredContent } from './secret.ts';
import type { Signer } from './x509/signer.ts';

export interface CertificateControllerOptions {
  readonly secret: Pick<CertificateSecret, 'read' | 'replace'>;
  readonly bundle: Pick<CaBundle, 'observe' | 'distribute'>;
  /** Makes the operator's namespace the owner of the configurations. */
  readonly own: (seen: readonly SeenConfiguration[], signal: AbortSignal) => Promise<void>;
  readonly signer: Signer;
  readonly lifetimes: Lifetimes;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** The last undamaged content of the Secret that this replica has seen. */
  readonly lastGood: () => KeyMaterial | undefined;
  readonly log: Logger;
  readonly metrics: CertificateMetrics;
}

/** Longest time between reconciles: timers stop while a machine sleeps, and its wall clock may change. */
const RECHECK_MS = 3_600_000;

/** The leader's part: renews the certificates and keeps the caBundle in sync. */
export class CertificateController {
  readonly #options: CertificateControllerOptions;

  constructor(options: CertificateControllerOptions) {
    this.#options = options;
  }

  /** Takes at most one step of each kind. Its writes trigger the next reconcile through the caches. */
  readonly reconcile = async (signal: AbortSignal): Promise<Result> => {
    const { bundle, secret } = this.#options;
    // The order matters: see CaBundle.
    const seen = bundle.observe();
    const stored = await secret.read(signal);
    // Any replica creates it, which triggers the next reconcile.
    if (!stored) return {};
    const [distribution] = await Promise.allSettled([this.#distribute(seen, stored.content, signal)]);
    const { heldForMs, keepsOthers } =
      distribution.status === 'fulfilled' && distribution.value
        ? distribution.value
        : { heldForMs: undefined, keepsOthers: false };
    // Even if a webhook configuration cannot be written, the leaf must not expire.
    const result = await this.#renew(stored, heldForMs, signal);
    if (distribution.status === 'rejected') throw distribution.reason;
    if (!keepsOthers) return result;
    return { requeueAfterMs: Math.min(OTHERS_RECHECK_MS, result.requeueAfterMs ?? Number.POSITIVE_INFINITY) };
  };

  async #distribute(
    seen: readonly SeenConfiguration[] | undefined,
    content: SecretContent,
    signal: AbortSignal,
  ): Promise<Distribution | undefined> {
    if (!seen) return undefined;
    const { bundle, own, log } = this.#options;
    const pem = 'material' in content ? bundleOf(content.material) : undefined;
    const distribution = pem === undefined ? undefined : await bundle.distribute(seen, pem, signal);
    if (distribution && distribution.heldForMs === undefined) log.info('caBundle written');
    else await own(seen, signal);
    return distribution;
  }

  async #renew(
    { content, resourceVersion }: StoredContent,
    distributedForMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    if (!('material' in content)) return { requeueAfterMs: RECHECK_MS };
    const { secret, signer, lifetimes, wallClock, lastGood, log, metrics } = this.#options;
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
}
