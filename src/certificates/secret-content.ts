import type { Secret } from '../kube/api/core-resources.ts';
import { OWN_CERTIFICATE } from './names.ts';
import {
  type Certificate,
  type CertifiedKey,
  isIssuedBy,
  readCertificates,
  readCertifiedKey,
} from './x509/certificate.ts';
import { bundlePem, type KeyMaterial } from './x509/key-material.ts';

/** What a Secret holds, and whose it is. */
export type SecretContent =
  /** Ours. What was damaged is missing, and `damage` says why. */
  | { readonly kind: 'own'; readonly material: KeyMaterial; readonly damage: readonly string[] }
  /** Somebody else's: used, never changed. Without a `ca.crt` they see to the caBundle as well. */
  | { readonly kind: 'provided'; readonly leaf: CertifiedKey; readonly bundle: string | undefined }
  /** Neither ours nor of any use. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** The values of the Secret, as cert-manager names them; `ca.key` and `next-ca.key` are ours. */
type Key = 'tls.crt' | 'tls.key' | 'ca.crt' | 'ca.key' | 'next-ca.key';

export function readSecret(secret: Secret): SecretContent {
  const leaf = attempt(() => readCertifiedKey(textOf(secret, 'tls.crt'), textOf(secret, 'tls.key')));
  const mark = secret.metadata.annotations?.[OWN_CERTIFICATE];
  if ('value' in leaf && leaf.value.fingerprint !== mark) return readProvided(secret, leaf.value);
  if (mark === undefined) return { kind: 'unusable', problem: `tls.crt and tls.key: ${problemOf(leaf)}` };
  return readOwn(secret, leaf);
}

/** The Secret's values for the material, base64; null takes one away (a JSON merge patch). */
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

/** The authorities, where one of them is, or has signed, a certificate of the leaf's chain. */
function anchored(leaf: CertifiedKey, authorities: readonly Certificate[]): readonly Certificate[] {
  const isAnchor = (authority: Certificate) =>
    readCertificates(leaf.pem).some(
      (link) => link.fingerprint === authority.fingerprint || isIssuedBy(link, authority),
    );
  if (!authorities.some(isAnchor)) throw new Error('expected the authority that has signed tls.crt');
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

/** The authority to which the key belongs. */
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

/** The decoded value; empty where there is none. */
function textOf({ data }: Secret, key: Key): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}
