import type { Operation } from 'fast-json-patch';
import type { WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { patchSeen, type SeenConfiguration } from './configurations.ts';
import { authoritiesIn, type Certificate, includes, isAnchored, pemOf } from './x509/certificate.ts';

export interface CaBundleOptions {
  readonly client: Pick<KubeClient, 'jsonPatch'>;
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** Whether replicas may serve certificates of other authorities, as during a rollout. */
  readonly isRollingOut: (signal: AbortSignal) => Promise<boolean>;
  /** For how long other authorities stay without a rollout, in milliseconds. */
  readonly holdMs: number;
}

export interface Distribution {
  /** For how long all configurations have held the bundle, in milliseconds; undefined if one does not yet. */
  readonly heldForMs: number | undefined;
  /** Other authorities stay for now: look again soon. */
  readonly keepsOthers: boolean;
}

/** How soon to look again whether other authorities may go. */
export const OTHERS_RECHECK_MS = 10_000;

/**
 * Writes the caBundle of our webhook configurations: the authorities by which API servers trust us.
 *
 * Two leaders at the same time do no harm if each takes three steps in this order: observe the configurations, read
 * the Secret from the API server, distribute its bundle. A leader writes a newer bundle only after the older leader
 * has read the old Secret, and so after that one has observed. The older leader's write then gets a conflict. So an
 * older bundle never replaces a newer one.
 *
 * A rollout may change who issues the certificates: the operator, or the owner of files. Each new replica adds its
 * authorities (see addIfUntrusted). The leader removes those of others once no replica is left that may serve their
 * certificates: it observes the configurations first and lists the pods second. A replica exists before it adds
 * anything, so the list has each replica whose authorities were observed.
 */
export class CaBundle {
  readonly #options: CaBundleOptions;
  /** When the authorities of others were first seen, by their fingerprints. */
  #firstSeen: ReadonlyMap<string, number> = new Map();
  #held: { readonly bundle: string; readonly since: number } | undefined;

  constructor(options: CaBundleOptions) {
    this.#options = options;
  }

  /** Forgets for how long anything has been in place: the end of a term. */
  forget(): void {
    this.#firstSeen = new Map();
    this.#held = undefined;
  }

  /**
   * Writes the bundle (PEM) where it is missing, and removes other authorities that are no longer needed. Rejects
   * with a conflict if a configuration has changed since it was observed.
   */
  async distribute(
    seen: readonly SeenConfiguration[],
    bundle: string,
    signal: AbortSignal,
  ): Promise<Distribution> {
    const kept = await this.#otherAuthorities(seen, bundle, signal);
    const stays = ({ fingerprint }: Certificate) => kept.has(fingerprint);
    const wanted = (present: string) => joined(bundle, authoritiesIn(present).filter(stays));
    const keepsOthers = kept.size > 0;
    if (await write(this.#options.client, seen, wanted, signal)) {
      this.#held = undefined;
      return { heldForMs: undefined, keepsOthers };
    }
    const now = this.#options.clock.now();
    if (this.#held?.bundle !== bundle) this.#held = { bundle, since: now };
    return { heldForMs: now - this.#held.since, keepsOthers };
  }

  /** The fingerprints of the other authorities that stay. An expired one goes. */
  async #otherAuthorities(
    seen: readonly SeenConfiguration[],
    bundle: string,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { wallClock, clock, isRollingOut, holdMs } = this.#options;
    const own = authoritiesIn(bundle);
    const others = bundlesOf(seen)
      .flatMap(authoritiesIn)
      .filter((authority) => !includes(own, authority) && wallClock() < authority.notAfter);
    const known = this.#firstSeen;
    this.#firstSeen = new Map(
      others.map(({ fingerprint }) => [fingerprint, known.get(fingerprint) ?? clock.now()]),
    );
    const first = [...this.#firstSeen];
    const stays = first.length > 0 && (await isRollingOut(signal));
    const kept = stays ? first : first.filter(([, since]) => clock.now() - since < holdMs);
    return new Set(kept.map(([fingerprint]) => fingerprint));
  }
}

/**
 * Adds the authorities (PEM) of a served certificate to each valid caBundle that does not trust its chain, and removes
 * nothing. For a replica whose leader does not know them, because the leader has other certificates.
 */
export async function addIfUntrusted(
  { client, log }: { readonly client: Pick<KubeClient, 'jsonPatch'>; readonly log: Logger },
  seen: readonly SeenConfiguration[],
  { chain, bundle }: { readonly chain: readonly Certificate[]; readonly bundle: string },
  signal: AbortSignal,
): Promise<Result> {
  const wanted = (pem: string) => {
    const present = authoritiesIn(pem);
    // The leader writes a caBundle that is missing or invalid.
    if (present.length === 0 || isAnchored(chain, present)) return undefined;
    const added = authoritiesIn(bundle).filter((each) => !includes(present, each));
    return joined(pemOf(present), added);
  };
  if (await write(client, seen, wanted, signal)) log.info('CA added to the caBundle');
  return {};
}

/**
 * Whether the caBundle of every webhook holds an authority of the chain: one that is in it, or has signed one of its
 * certificates. Without a caBundle the chain is not trusted, because no public authority signs for a Service.
 */
export function trusts(seen: readonly SeenConfiguration[], chain: readonly Certificate[]): boolean {
  return bundlesOf(seen).every((pem) => isAnchored(chain, authoritiesIn(pem)));
}

/** Whether every webhook of all these configurations holds the bundle (PEM), alone or with other authorities. */
export function holdsBundle(seen: readonly SeenConfiguration[], bundle: string): boolean {
  const own = authoritiesIn(bundle);
  return bundlesOf(seen).every((pem) => {
    const present = authoritiesIn(pem);
    return own.length > 0 && own.every((each) => includes(present, each));
  });
}

/** The caBundle (PEM) of each webhook. */
function bundlesOf(seen: readonly SeenConfiguration[]): readonly string[] {
  return seen.flatMap(({ configuration: { webhooks = [] } }) =>
    webhooks.map(({ clientConfig: { caBundle = '' } }) => Buffer.from(caBundle, 'base64').toString()),
  );
}

/** Writes the wanted caBundle (PEM; undefined: as it is) where another one is. Returns whether it wrote. */
async function write(
  client: Pick<KubeClient, 'jsonPatch'>,
  seen: readonly SeenConfiguration[],
  wanted: (present: string) => string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const operationsFor = ({ webhooks = [] }: WebhookConfiguration) =>
    webhooks.flatMap(({ clientConfig: { caBundle = '' } }, i): Operation[] => {
      const pem = wanted(Buffer.from(caBundle, 'base64').toString());
      const value = pem === undefined ? caBundle : Buffer.from(pem).toString('base64');
      return caBundle === value ? [] : [{ op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value }];
    });
  return (await patchSeen(client, seen, operationsFor, signal)).length > 0;
}

/** The bundle (PEM) with the other authorities after it. */
function joined(bundle: string, others: readonly Certificate[]): string {
  return others.length === 0 ? bundle : `${bundle.trimEnd()}\n${pemOf(others)}`;
}
