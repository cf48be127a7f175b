import type { Secret } from '../kube/api/core-resources.ts';
import { OWN_CERTIFICATE } from './names.ts';
import {
  type Certificate,
  type CertifiedKey,
  readCertificates,
  readCertifiedKey,
} from './x509/certificate.ts';
import { bundlePem, type KeyMaterial } from './x509/key-material.ts';
import { isAnchored } from './x509/trust.ts';

/** The content of a Secret, and its owner. */
export type SecretContent =
  /** Our own. Damaged parts are missing, and `damage` says why. */
  | { readonly kind: 'own'; readonly material: KeyMaterial; readonly damage: readonly string[] }
  /** Provided by users: used, never changed. Without a `ca.crt` they also write the caBundle. */
  | { readonly kind: 'provided'; readonly leaf: CertifiedKey; readonly bundle: string | undefined }
  /** Not our own, and without a usable key pair. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** The values of the Secret, as cert-manager names them; `ca.key` and `next-ca.key` are ours. */
type Key = 'tls.crt' | 'tls.key' | 'ca.crt' | 'ca.key' | 'next-ca.key';

/** Reads the Secret. The annotation decides whether it is our own. */
export function readSecret(secret: Secret): SecretContent {
  const leaf = attempt(() => readCertifiedKey(textOf(secret, 'tls.crt'), textOf(secret, 'tls.key')));
  const mark = secret.metadata.annotations?.[OWN_CERTIFICATE];
  if ('value' in leaf && leaf.value.fingerprint !== mark) return readProvided(secret, leaf.value);
  if (mark === undefined) return { kind: 'unusable', problem: `tls.crt and tls.key: ${problemOf(leaf)}` };
  return readOwn(secret, leaf);
}

/** The Secret's values for the material, base64; null deletes one (a JSON merge patch). */
export function secretData({ leaf, issuer, next, ...trusted }: KeyMaterial): Record<Key, string | null> {
  const base64 = (text: string | undefined) =>
    text === undefined ? null : Buffer.from(text).toString('base64');
  return {
    'tls.crt': base64(leaf?.pem ?? ''),
    'tls.key': base64(leaf?.keyPem ?? ''),
    'ca.crt': base64(bundlePem(trusted)),
    'ca.key': base64(issuer?.keyPem),
    'next-ca.key': base64(next?.keyPem),
  };
}

function readProvided(secret: Secret, leaf: CertifiedKey): SecretContent {
  const bundle = textOf(secret, 'ca.crt');
  if (bundle === '') return { kind: 'provided', leaf, bundle: undefined };
  const authorities = attempt(() => anchored(leaf, readCertificates(bundle)));
  return 'value' in authorities
    ? { kind: 'provided', leaf, bundle }
    : { kind: 'unusable', problem: `ca.crt: ${authorities.problem}` };
}

/** Returns the authorities if one of them is in, or has signed, the leaf's chain. @throws Error otherwise. */
function anchored(leaf: CertifiedKey, authorities: readonly Certificate[]): readonly Certificate[] {
  if (!isAnchored(readCertificates(leaf.pem), authorities))
    throw new Error('expected the authority that signed tls.crt, got others');
  return authorities;
}

function readOwn(secret: Secret, leaf: Attempt<CertifiedKey>): SecretContent {
  const authorities = attempt(() => readCertificates(textOf(secret, 'ca.crt')));
  const bundle = 'value' in authorities ? authorities.value : [];
  const trusted = attempt(() => trustedLeaf(leaf, bundle));
  const issuer = attempt(() => keyed(bundle, textOf(secret, 'ca.key')));
  const nextKey = textOf(secret, 'next-ca.key');
  const next: Attempt<CertifiedKey | undefined> =
    nextKey === '' ? { value: undefined } : attempt(() => keyed(bundle, nextKey));
  const parts = { 'ca.crt': authorities, 'tls.crt': trusted, 'ca.key': issuer, 'next-ca.key': next };
  const damage = Object.entries(parts).flatMap(([key, part]) =>
    'problem' in part ? [`${key}: ${part.problem}`] : [],
  );
  const material = { leaf: valueIn(trusted), issuer: valueIn(issuer), next: valueIn(next), bundle };
  return { kind: 'own', material, damage };
}

function trustedLeaf(leaf: Attempt<CertifiedKey>, bundle: readonly Certificate[]): CertifiedKey {
  if ('problem' in leaf) throw new Error(leaf.problem);
  anchored(leaf.value, bundle);
  return leaf.value;
}

/** The authority that the key belongs to. @throws Error if there is none. */
function keyed(bundle: readonly Certificate[], keyPem: string): CertifiedKey {
  for (const { pem } of bundle) {
    const key = attempt(() => readCertifiedKey(pem, keyPem));
    if ('value' in key) return key.value;
  }
  throw new Error('expected the private key of an authority in ca.crt');
}

type Attempt<T> = { readonly value: T } | { readonly problem: string };

function attempt<T>(read: () => T): Attempt<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function valueIn<T>(result: Attempt<T>): T | undefined {
  return 'value' in result ? result.value : undefined;
}

function problemOf(result: Attempt<unknown>): string {
  return 'problem' in result ? result.problem : '';
}

/** The decoded value; empty if it is missing. */
function textOf({ data }: Secret, key: Key): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}
