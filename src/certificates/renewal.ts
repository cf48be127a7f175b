import { isSpent, leafNotAfter, type Step } from './plan.ts';
import type { Validity } from './x509/authority.ts';
import type { Certificate, CertifiedKey } from './x509/certificate.ts';
import type { KeyMaterial } from './x509/key-material.ts';
import type { Lifetimes } from './x509/lifetimes.ts';

/** Creates keys and signs certificates. */
export interface Signer {
  authority(validity: Validity): Promise<CertifiedKey>;
  leaf(issuer: CertifiedKey, validity: Validity): Promise<CertifiedKey>;
  /** Whether the leaf has all names that a new one would have. */
  isUpToDate(leaf: CertifiedKey): boolean;
}

/** The steps that need the existing material. */
export type Renewal = Exclude<Step['do'], 'start-over' | 'wait'>;

/** The inputs of a renewal. `now` is in milliseconds since 1970. */
export interface RenewalContext {
  readonly signer: Signer;
  readonly lifetimes: Lifetimes;
  readonly now: number;
}

/** Creates everything: an authority, and a leaf that it signs. */
async function startOver(context: RenewalContext): Promise<KeyMaterial> {
  const issuer = await makeAuthority(context);
  return { leaf: await makeLeaf(issuer, context), issuer, next: undefined, bundle: [publicPart(issuer)] };
}

/**
 * Returns the material that replaces a deleted or unusable Secret. If the last undamaged content is known, it
 * returns that with a next authority added. Replicas still serve the old leaf, so API servers must trust it until
 * they know the next authority.
 */
export async function replacement(
  lastGood: KeyMaterial | undefined,
  context: RenewalContext,
): Promise<KeyMaterial> {
  if (!lastGood?.leaf || context.now >= lastGood.leaf.notAfter) return startOver(context);
  return lastGood.next ? lastGood : renew('add-authority', lastGood, context);
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
      return { ...material, bundle, leaf: await makeLeaf(required(issuer, 'issuer'), context) };
    case 'add-authority': {
      const added = await makeAuthority(context);
      return { ...material, next: added, bundle: [...bundle, publicPart(added)] };
    }
    case 'promote-authority': {
      const promoted = required(next, 'next authority');
      return { leaf: await makeLeaf(promoted, context), issuer: promoted, next: undefined, bundle };
    }
    case 'drop-expired':
      return { ...material, bundle };
  }
}

function makeAuthority({ signer, lifetimes, now }: RenewalContext): Promise<CertifiedKey> {
  return signer.authority({
    notBefore: new Date(now - lifetimes.skewMs),
    notAfter: new Date(now + lifetimes.authorityMs),
  });
}

function makeLeaf(issuer: CertifiedKey, context: RenewalContext): Promise<CertifiedKey> {
  return context.signer.leaf(issuer, {
    notBefore: new Date(context.now - context.lifetimes.skewMs),
    notAfter: new Date(leafNotAfter(issuer, context)),
  });
}

/** The certificate without its private key. */
function publicPart({ pem, fingerprint, notBefore, notAfter }: CertifiedKey): Certificate {
  return { pem, fingerprint, notBefore, notAfter };
}

function required(key: CertifiedKey | undefined, what: string): CertifiedKey {
  if (!key) throw new Error(`expected key material with its ${what}, got one without`);
  return key;
}
