import type { Operation } from 'fast-json-patch';
import { isConflict } from '../kube/api/api-error.ts';
import type { WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { CA_FIELD_MANAGER } from './names.ts';
import type { Certificate } from './x509/certificate.ts';
import { authoritiesIn, isAnchored } from './x509/trust.ts';

/** One of our webhook configurations, and the cache that has it. */
export interface BundleTarget {
  readonly resource: Resource<WebhookConfiguration>;
  readonly name: string;
  readonly informer: Pick<Informer<WebhookConfiguration>, 'lister' | 'hasSynced'>;
}

/** A webhook configuration as the cache had it. A missing configuration needs no caBundle. */
export interface SeenConfiguration {
  readonly resource: Resource<WebhookConfiguration>;
  readonly configuration: WebhookConfiguration;
}

export interface CaBundleOptions {
  readonly client: Pick<KubeClient, 'jsonPatch'>;
  readonly targets: readonly BundleTarget[];
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** Whether replicas may serve certificates of other authorities, as during a rollout. */
  readonly isRollingOut: (signal: AbortSignal) => Promise<boolean>;
  /** For how long other authorities stay without a rollout, in milliseconds. */
  readonly holdMs?: number;
}

/** The state of the caBundle. */
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
  readonly #firstSeen = new Map<string, number>();
  #held: { readonly bundle: string; readonly since: number } | undefined;

  constructor(options: CaBundleOptions) {
    this.#options = options;
  }

  /** The configurations that exist; undefined until the caches are synced. */
  observe(): readonly SeenConfiguration[] | undefined {
    return observe(this.#options.targets);
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
    const wanted = (caBundle: string) =>
      joined(
        bundle,
        authoritiesIn(caBundle).filter(({ fingerprint }) => kept.has(fingerprint)),
      );
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
    const { wallClock, clock, isRollingOut, holdMs = 0 } = this.#options;
    const own = new Set(certificatesIn(bundle).map(({ fingerprint }) => fingerprint));
    const others = seen
      .flatMap(({ configuration: { webhooks = [] } }) => webhooks)
      .flatMap(({ clientConfig: { caBundle = '' } }) => authoritiesIn(caBundle))
      .filter(({ fingerprint, notAfter }) => !own.has(fingerprint) && wallClock() < notAfter);
    const fingerprints = new Set(others.map(({ fingerprint }) => fingerprint));
    for (const known of this.#firstSeen.keys()) if (!fingerprints.has(known)) this.#firstSeen.delete(known);
    for (const fingerprint of fingerprints)
      if (!this.#firstSeen.has(fingerprint)) this.#firstSeen.set(fingerprint, clock.now());
    if (fingerprints.size === 0 || (await isRollingOut(signal))) return fingerprints;
    const isRecent = (fingerprint: string) => clock.now() - (this.#firstSeen.get(fingerprint) ?? 0) < holdMs;
    return new Set([...fingerprints].filter(isRecent));
  }
}

/** A served certificate with its chain, and its authorities (PEM). */
export interface Served {
  readonly chain: readonly Certificate[];
  readonly bundle: string;
}

/**
 * Adds the authorities to each valid caBundle that does not trust the chain, and removes nothing. For a replica whose
 * leader does not know them, because the leader has other certificates.
 */
export async function addIfUntrusted(
  { client, log }: { readonly client: Pick<KubeClient, 'jsonPatch'>; readonly log: Logger },
  seen: readonly SeenConfiguration[],
  { chain, bundle }: Served,
  signal: AbortSignal,
): Promise<Result> {
  const added = certificatesIn(bundle);
  const wanted = (caBundle: string) => {
    const present = authoritiesIn(caBundle);
    // The leader writes a caBundle that is missing or invalid.
    if (present.length === 0 || isAnchored(chain, present)) return undefined;
    return joined(
      pemOf(present),
      added.filter((each) => !has(present, each)),
    );
  };
  try {
    if (await write(client, seen, wanted, signal)) log.info('authority added to the caBundle');
    return {};
  } catch (error) {
    if (!isConflict(error)) throw error;
    return { requeueAfterMs: 0 };
  }
}

/** Writes the wanted caBundle (PEM) where another one is. Returns whether it wrote. */
async function write(
  client: Pick<KubeClient, 'jsonPatch'>,
  seen: readonly SeenConfiguration[],
  wanted: (caBundle: string) => string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const writes = seen
    .map((target) => ({ ...target, operations: bundleOperations(target.configuration, wanted) }))
    .filter(({ operations }) => operations.length > 0);
  for (const { resource, configuration, operations } of writes) {
    await client.jsonPatch(
      resource,
      { name: configuration.metadata.name },
      [unchangedSince(configuration), ...operations],
      { fieldManager: CA_FIELD_MANAGER, signal },
    );
  }
  return writes.length > 0;
}

/** The configurations that exist; undefined until the caches are synced. */
export function observe(targets: readonly BundleTarget[]): readonly SeenConfiguration[] | undefined {
  if (!targets.every(({ informer }) => informer.hasSynced())) return undefined;
  return targets.flatMap(({ resource, name, informer }) => {
    const configuration = informer.lister.get(name);
    return configuration ? [{ resource, configuration }] : [];
  });
}

/** Whether every webhook of all these configurations holds the bundle (PEM), alone or with other authorities. */
export function holdsBundle(seen: readonly SeenConfiguration[], bundle: string): boolean {
  const wanted = (caBundle: string) => {
    const present = authoritiesIn(caBundle);
    const own = certificatesIn(bundle);
    return own.length > 0 && own.every((each) => has(present, each)) ? undefined : bundle;
  };
  return seen.every(({ configuration }) => bundleOperations(configuration, wanted).length === 0);
}

/** The operations that write the wanted caBundle (PEM) into every webhook that has another one; undefined: none. */
function bundleOperations(
  { webhooks = [] }: WebhookConfiguration,
  wanted: (caBundle: string) => string | undefined,
): readonly Operation[] {
  return webhooks.flatMap(({ clientConfig: { caBundle } }, i) => {
    const pem = wanted(caBundle ?? '');
    const value = pem === undefined ? caBundle : Buffer.from(pem).toString('base64');
    return caBundle === value
      ? []
      : [{ op: 'add' as const, path: `/webhooks/${i}/clientConfig/caBundle`, value }];
  });
}

/** The bundle (PEM) with the other authorities after it. */
function joined(bundle: string, others: readonly Certificate[]): string {
  return others.length === 0 ? bundle : `${bundle.trimEnd()}\n${pemOf(others)}`;
}

function pemOf(certificates: readonly Certificate[]): string {
  return certificates.map(({ pem }) => pem).join('');
}

function certificatesIn(bundle: string): readonly Certificate[] {
  return authoritiesIn(Buffer.from(bundle).toString('base64'));
}

function has(certificates: readonly Certificate[], { fingerprint }: Certificate): boolean {
  return certificates.some((certificate) => certificate.fingerprint === fingerprint);
}

/** Makes the patch fail with a conflict if the object has changed: its webhooks may have another order. */
export function unchangedSince({ metadata }: WebhookConfiguration): Operation {
  return { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
}
