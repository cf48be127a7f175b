import type { Validity } from './x509/authority.ts';
import type { Certificate, CertifiedKey } from './x509/certificate.ts';
import type { Signer } from './x509/signer.ts';

/**
 * The keys and certificates of an operator that is its own authority. A part is missing only if the Secret was
 * damaged. An authority passes through three states: next, issuer, former.
 */
export interface KeyMaterial {
  /** The certificate that every replica serves. */
  readonly leaf?: CertifiedKey | undefined;
  /** The authority that signs. */
  readonly issuer?: CertifiedKey | undefined;
  /** The authority that is being distributed and will sign later. */
  readonly next?: CertifiedKey | undefined;
  /** What clients must trust: the issuer, the next, and former ones while their certificates may be served. */
  readonly bundle: readonly Certificate[];
}

/** Lifetimes and delays of certificates, in milliseconds. */
export interface Lifetimes {
  /** Lifetime of an authority. The next one is created at two thirds of it. */
  readonly authorityMs: number;
  /** Lifetime of a serving certificate, well below the authority's. The next one is issued at two thirds of it. */
  readonly leafMs: number;
  /** How far clocks may differ: certificates become valid this long before their creation. */
  readonly skewMs: number;
  /** How long all webhook configurations must have held an authority before it signs. */
  readonly settleMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * - A year for the authority, as in the webhooks of cert-manager and Kyverno. Ten years, as in others, would leave
 *   the rotation untested for too long.
 * - 90 days for the serving certificate, the default of cert-manager. Without a leader, a month passes before it
 *   expires.
 * - An hour of skew, as client-go allows (util/cert, `GenerateSelfSignedCertKey`).
 * - Five minutes for API servers to see the bundle: a watch that has fallen behind lists again within that time.
 */
export const defaultLifetimes: Lifetimes = {
  authorityMs: 365 * DAY_MS,
  leafMs: 90 * DAY_MS,
  skewMs: 60 * MINUTE_MS,
  settleMs: 5 * MINUTE_MS,
};

/** The state to plan for. Times are milliseconds since 1970. */
export interface Situation {
  readonly material: KeyMaterial;
  /** For how long all webhook configurations have held the current bundle; undefined if one does not. */
  readonly distributedForMs: number | undefined;
  /** Whether the leaf lacks a name of the server. */
  readonly leafLacksNames: boolean;
  readonly now: number;
  readonly lifetimes: Lifetimes;
}

/** A write that needs the existing material. */
export type Renewal = 'issue-leaf' | 'add-authority' | 'promote-authority' | 'drop-expired';

/** One write of the Secret, or the time of the next reconcile (undefined: when something changes). */
export type Step =
  | { readonly do: Renewal | 'start-over' }
  | { readonly do: 'wait'; readonly until: number | undefined };

/**
 * Decides the next step. Each step is a single write, so after a crash the next leader continues. API servers
 * always trust what any replica may serve:
 * - a new authority is in the bundle of every webhook configuration for a while before it signs;
 * - a former authority stays in the bundle until it has expired, and all its certificates with it.
 */
export function plan(situation: Situation): Step {
  const { material, now, leafLacksNames, distributedForMs, lifetimes } = situation;
  const valid = (key: CertifiedKey | undefined) => (key && now < key.notAfter ? key : undefined);
  const [leaf, issuer, next] = [valid(material.leaf), valid(material.issuer), valid(material.next)];

  if (!leaf && !issuer) return { do: next ? 'promote-authority' : 'start-over' };
  if (issuer && (!leaf || leafLacksNames || isLeafDue(leaf, issuer, situation))) return { do: 'issue-leaf' };
  if (!next && (!issuer || now >= dueAt(issuer))) return { do: 'add-authority' };
  if (next && (distributedForMs ?? -1) >= lifetimes.settleMs) return { do: 'promote-authority' };
  if (material.bundle.some((authority) => isSpent(authority, situation))) return { do: 'drop-expired' };

  const moments = [
    ...[leaf, issuer].flatMap((key) => (key ? [dueAt(key), key.notAfter] : [])),
    ...(next && distributedForMs !== undefined ? [now + lifetimes.settleMs - distributedForMs] : []),
    ...material.bundle.map(({ notAfter }) => notAfter + lifetimes.skewMs),
  ].filter((moment) => moment > now);
  return { do: 'wait', until: moments.length === 0 ? undefined : Math.min(...moments) };
}

/** When two thirds of a certificate's lifetime are over. */
function dueAt({ notBefore, notAfter }: Certificate): number {
  return notBefore + (2 / 3) * (notAfter - notBefore);
}

type Times = Pick<Situation, 'now' | 'lifetimes'>;

/** Whether all certificates of the authority have expired, by any clock within the allowed skew. */
function isSpent({ notAfter }: Certificate, { now, lifetimes }: Times): boolean {
  return now >= notAfter + lifetimes.skewMs;
}

/** When a new leaf expires: no later than its authority, because a longer lifetime is useless. */
function leafNotAfter(issuer: Certificate, { now, lifetimes }: Times): number {
  return Math.min(now + lifetimes.leafMs, issuer.notAfter);
}

/** Whether the leaf is due and a new one would live longer. It would not near the end of its authority. */
function isLeafDue(leaf: Certificate, issuer: Certificate, times: Times): boolean {
  return times.now >= dueAt(leaf) && leafNotAfter(issuer, times) > leaf.notAfter;
}

export interface RenewalContext extends Times {
  readonly signer: Signer;
}

/**
 * Returns the material that replaces a deleted or unusable Secret. If the last undamaged content is known, it
 * returns that with a next authority added. Replicas still serve the old leaf, so API servers must trust it until
 * they know the next authority. Otherwise it creates everything.
 */
export async function replacement(
  lastGood: KeyMaterial | undefined,
  context: RenewalContext,
): Promise<KeyMaterial> {
  if (lastGood?.leaf && context.now < lastGood.leaf.notAfter)
    return lastGood.next ? lastGood : renew('add-authority', lastGood, context);
  const issuer = await makeAuthority(context);
  return { leaf: await makeLeaf(issuer, context), issuer, next: undefined, bundle: [publicPart(issuer)] };
}

/**
 * Returns the material after one step, to be written at once. Does not change the given material.
 * @throws Error if the material lacks a part that the step needs.
 */
export async function renew(
  step: Renewal,
  material: KeyMaterial,
  context: RenewalContext,
): Promise<KeyMaterial> {
  const { issuer, next } = material;
  const bundle = material.bundle.filter((authority) => !isSpent(authority, context));
  switch (step) {
    case 'issue-leaf':
      return { ...material, bundle, leaf: await makeLeaf(issuer, context) };
    case 'add-authority': {
      const added = await makeAuthority(context);
      return { ...material, next: added, bundle: [...bundle, publicPart(added)] };
    }
    case 'promote-authority':
      return { leaf: await makeLeaf(next, context), issuer: next, next: undefined, bundle };
    case 'drop-expired':
      return { ...material, bundle };
  }
}

function makeAuthority(context: RenewalContext): Promise<CertifiedKey> {
  return context.signer.authority(validity(context.now + context.lifetimes.authorityMs, context));
}

async function makeLeaf(issuer: CertifiedKey | undefined, context: RenewalContext): Promise<CertifiedKey> {
  if (!issuer) throw new Error('expected key material with the CA that signs, got none');
  return context.signer.leaf(issuer, validity(leafNotAfter(issuer, context), context));
}

function validity(notAfter: number, { now, lifetimes }: Times): Validity {
  return { notBefore: new Date(now - lifetimes.skewMs), notAfter: new Date(notAfter) };
}

/** The certificate without its private key. */
function publicPart({ pem, fingerprint, notBefore, notAfter }: CertifiedKey): Certificate {
  return { pem, fingerprint, notBefore, notAfter };
}
