import { isConflict } from '../kube/api/api-error.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import { type CaBundle, type Distribution, OTHERS_RECHECK_MS, type SeenConfiguration } from './ca-bundle.ts';
import type { CertificateSecret, StoredContent } from './certificate-secret.ts';
import type { CertificateMetrics } from './metrics.ts';
import { type NamespaceOwner, ownIfAllowed } from './namespace-owner.ts';
import { plan, type Step } from './plan.ts';
import { type RenewalContext, renew, replacement, type Signer } from './renewal.ts';
import type { SecretContent } from './secret-content.ts';
import { bundlePem, type KeyMaterial } from './x509/key-material.ts';
import type { Lifetimes } from './x509/lifetimes.ts';

export interface CertificateControllerOptions {
  readonly secret: Pick<CertificateSecret, 'read' | 'replace'>;
  readonly bundle: Pick<CaBundle, 'observe' | 'distribute'>;
  readonly owner: Pick<NamespaceOwner, 'own'>;
  readonly signer: Signer;
  readonly lifetimes: Lifetimes;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** The last undamaged content of the Secret that this replica has seen. */
  readonly lastGood: () => KeyMaterial | undefined;
  readonly log: Logger;
  readonly metrics?: CertificateMetrics | undefined;
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
  async reconcile(signal: AbortSignal): Promise<Result> {
    try {
      return await this.#reconcile(signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.#options.log.debug({ err: error }, 'changed by another client, retrying');
      return { requeueAfterMs: 0 };
    }
  }

  async #reconcile(signal: AbortSignal): Promise<Result> {
    const { bundle, secret } = this.#options;
    // The order matters: see CaBundle.
    const seen = bundle.observe();
    const stored = await secret.read(signal);
    // Any replica creates it, which triggers the next reconcile.
    if (!stored) return {};
    const distribution = await outcome(this.#distribute(seen, stored.content, signal));
    // Even if a webhook configuration cannot be written, the leaf must not expire.
    const result = await this.#renew(stored, distribution.value?.heldForMs, signal);
    if ('error' in distribution) throw distribution.error;
    if (!distribution.value?.keepsOthers) return result;
    return { requeueAfterMs: Math.min(OTHERS_RECHECK_MS, result.requeueAfterMs ?? Number.POSITIVE_INFINITY) };
  }

  async #distribute(
    seen: readonly SeenConfiguration[] | undefined,
    content: SecretContent,
    signal: AbortSignal,
  ): Promise<Distribution | undefined> {
    if (!seen) return undefined;
    const { bundle, owner, log } = this.#options;
    const pem = trusted(content);
    const distribution = pem === undefined ? undefined : await bundle.distribute(seen, pem, signal);
    if (distribution && distribution.heldForMs === undefined) {
      log.info('caBundle written');
      return distribution;
    }
    await ownIfAllowed(owner, seen, log, signal);
    return distribution;
  }

  async #renew(
    { content, resourceVersion }: StoredContent,
    distributedForMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    if (content.kind !== 'own') return { requeueAfterMs: RECHECK_MS };
    const { secret, lastGood, log } = this.#options;
    const { material, damage } = content;
    const context = this.#context();
    const leafLacksNames = material.leaf !== undefined && !context.signer.isUpToDate(material.leaf);
    const step = plan({ material, distributedForMs, leafLacksNames, ...context });
    if (step.do === 'wait') return { requeueAfterMs: until(step.until, context.now) };
    const renewed =
      step.do === 'start-over'
        ? await replacement(lastGood(), context)
        : await renew(step.do, material, context);
    await secret.replace(renewed, resourceVersion, signal);
    const expires = renewed.leaf && new Date(renewed.leaf.notAfter);
    if (damage.length > 0) log.warn({ damage, step: step.do, expires }, 'damaged certificates repaired');
    else log.info({ step: step.do, expires }, 'certificates renewed');
    this.#count(step.do);
    return { requeueAfterMs: RECHECK_MS };
  }

  #context(): RenewalContext {
    const { signer, lifetimes, wallClock } = this.#options;
    return { signer, lifetimes, now: wallClock() };
  }

  #count(step: Step['do']): void {
    const { metrics } = this.#options;
    if (step === 'issue-leaf' || step === 'promote-authority') metrics?.rotated('serving');
    if (step === 'promote-authority') metrics?.rotated('authority');
  }
}

/** The authorities (PEM) for the caBundle; undefined if the operator must not write it. */
export function trusted(content: SecretContent): string | undefined {
  if (content.kind === 'unusable') return undefined;
  if (content.kind === 'provided') return content.bundle;
  return content.material.bundle.length === 0 ? undefined : bundlePem(content.material);
}

function until(moment: number | undefined, now: number): number {
  return moment === undefined ? RECHECK_MS : Math.max(1, Math.min(moment - now, RECHECK_MS));
}

/** The outcome of a promise as a value. */
async function outcome<T>(promise: Promise<T>): Promise<{ readonly value?: T; readonly error?: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}
