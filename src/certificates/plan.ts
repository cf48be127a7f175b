import type { Certificate, CertifiedKey } from './x509/certificate.ts';
import type { KeyMaterial } from './x509/key-material.ts';
import type { Lifetimes } from './x509/lifetimes.ts';

/** What there is, and when. Times are milliseconds since 1970. */
export interface Situation {
  readonly material: KeyMaterial;
  /** How long every webhook configuration has held the bundle as it is now, in milliseconds; undefined: not all do. */
  readonly distributedForMs: number | undefined;
  /** The leaf does not say every name that the server is called by. */
  readonly leafLacksNames: boolean;
  readonly now: number;
  readonly lifetimes: Lifetimes;
}

/** One write of the Secret, or the time at which to look again (undefined: when something changes). */
export type Step =
  | { readonly do: 'start-over' }
  | { readonly do: 'issue-leaf' }
  | { readonly do: 'add-authority' }
  | { readonly do: 'promote-authority' }
  | { readonly do: 'drop-expired' }
  | { readonly do: 'wait'; readonly until: number | undefined };

/**
 * Decides the next step. Each is a single write, so a crash leaves a state from which the next one follows, and at any
 * moment the API servers trust what any replica may serve:
 * - a new authority is in the bundle of every webhook configuration, for a while, before it signs;
 * - a former one stays in the bundle until it has expired, and with it all that it signed.
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

/** When two thirds of a certificate's life are over. */
export function dueAt({ notBefore, notAfter }: Certificate): number {
  return notBefore + (2 / 3) * (notAfter - notBefore);
}

/** Nothing that the authority signed is valid any more, by whichever clock. */
export function isSpent(
  { notAfter }: Certificate,
  { now, lifetimes }: Pick<Situation, 'now' | 'lifetimes'>,
): boolean {
  return now >= notAfter + lifetimes.skewMs;
}

/** A leaf outlives its authority in vain. */
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

/** Due, and a new one would live longer: not so at the end of an authority that cannot be replaced. */
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
