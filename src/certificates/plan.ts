import type { Certificate, CertifiedKey } from './x509/certificate.ts';
import type { KeyMaterial } from './x509/key-material.ts';
import type { Lifetimes } from './x509/lifetimes.ts';

/** The state to plan for. Times are milliseconds since 1970. */
export interface Situation {
  readonly material: KeyMaterial;
  /**
   * For how long all webhook configurations have held the current bundle, in milliseconds; undefined if one does
   * not.
   */
  readonly distributedForMs: number | undefined;
  /** Whether the leaf lacks a name of the server. */
  readonly leafLacksNames: boolean;
  readonly now: number;
  readonly lifetimes: Lifetimes;
}

/** One write of the Secret, or the time of the next reconcile (undefined: when something changes). */
export type Step =
  | { readonly do: 'start-over' }
  | { readonly do: 'issue-leaf' }
  | { readonly do: 'add-authority' }
  | { readonly do: 'promote-authority' }
  | { readonly do: 'drop-expired' }
  | { readonly do: 'wait'; readonly until: number | undefined };

/**
 * Decides the next step. Each step is a single write, so after a crash the next leader continues. API servers
 * always trust what any replica may serve:
 * - a new authority is in the bundle of every webhook configuration for a while before it signs;
 * - a former authority stays in the bundle until it has expired, and all its certificates with it.
 */
export function plan(situation: Situation): Step {
  const { material, now, leafLacksNames, lifetimes } = situation;
  const leaf = valid(material.leaf, now);
  const issuer = valid(material.issuer, now);
  const next = valid(material.next, now);

  if (!leaf && !issuer) return { do: next ? 'promote-authority' : 'start-over' };
  if (issuer && (!leaf || leafLacksNames || isLeafDue(leaf, issuer, situation))) return { do: 'issue-leaf' };
  if (!next && (!issuer || isDue(issuer, now))) return { do: 'add-authority' };
  if (next && (situation.distributedForMs ?? -1) >= lifetimes.settleMs) return { do: 'promote-authority' };
  if (material.bundle.some((authority) => isSpent(authority, situation))) return { do: 'drop-expired' };
  return { do: 'wait', until: nextMoment(situation, { leaf, issuer, next }) };
}

/** When two thirds of a certificate's lifetime are over. */
export function dueAt({ notBefore, notAfter }: Certificate): number {
  return notBefore + (2 / 3) * (notAfter - notBefore);
}

/** Whether all certificates of the authority have expired, by any clock within the allowed skew. */
export function isSpent(
  { notAfter }: Certificate,
  { now, lifetimes }: Pick<Situation, 'now' | 'lifetimes'>,
): boolean {
  return now >= notAfter + lifetimes.skewMs;
}

/** When a new leaf expires: no later than its authority, because a longer lifetime is useless. */
export function leafNotAfter(
  issuer: Certificate,
  { now, lifetimes }: Pick<Situation, 'now' | 'lifetimes'>,
): number {
  return Math.min(now + lifetimes.leafMs, issuer.notAfter);
}

function valid(key: CertifiedKey | undefined, now: number): CertifiedKey | undefined {
  return key && now < key.notAfter ? key : undefined;
}

function isDue(certificate: Certificate, now: number): boolean {
  return now >= dueAt(certificate);
}

/** Whether the leaf is due and a new one would live longer. It would not near the end of its authority. */
function isLeafDue(leaf: Certificate, issuer: Certificate, situation: Situation): boolean {
  return isDue(leaf, situation.now) && leafNotAfter(issuer, situation) > leaf.notAfter;
}

function nextMoment(
  { material, distributedForMs, now, lifetimes }: Situation,
  { leaf, issuer, next }: Omit<KeyMaterial, 'bundle'>,
): number | undefined {
  const moments = [
    ...[leaf, issuer].flatMap((key) => (key ? [dueAt(key), key.notAfter] : [])),
    ...(next && distributedForMs !== undefined ? [now + lifetimes.settleMs - distributedForMs] : []),
    ...material.bundle.map(({ notAfter }) => notAfter + lifetimes.skewMs),
  ];
  const future = moments.filter((moment) => moment > now);
  return future.length === 0 ? undefined : Math.min(...future);
}
