import { ifFound, isAlreadyExists } from '../kube/api/api-error.ts';
import { SECRETS, type Secret } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { toError } from '../kube/util/errors.ts';
import { OWN_LABELS, PROGRAM } from '../util/identity.ts';
import type { KeyMaterial } from './rotation.ts';
import {
  type Certificate,
  type CertifiedKey,
  isAnchored,
  pemOf,
  readCertificates,
  readCertifiedKey,
} from './x509/certificate.ts';

/** The name of the Secret with the key pair. */
export const TLS_SECRET = `${PROGRAM}-tls`;
/**
 * The annotation that marks a Secret as ours while it names the certificate in the Secret. A Secret into which another
 * client writes a certificate, such as kubectl, is no longer ours, and stays as it is.
 */
export const OWN_CERTIFICATE = 'initializer.kubernetes.io/envoy-certificate-sha256';

export type SecretContent =
  /** Damaged parts are missing, and `damage` says why. */
  | { readonly material: KeyMaterial; readonly damage: readonly string[] }
  /** Why it is not our own: it is neither used nor changed. */
  | { readonly foreign: string };

/** The values of the Secret, as cert-manager names them; `ca.key` and `next-ca.key` are ours. */
type Key = 'tls.crt' | 'tls.key' | 'ca.crt' | 'ca.key' | 'next-ca.key';

/** The authorities (PEM) for the caBundle; undefined if the operator must not write it. */
export function bundleOf({ bundle }: KeyMaterial): string | undefined {
  return pemOf(bundle) || undefined;
}

/** Reads the Secret. The annotation decides whether it is our own. */
export function readSecret(secret: Secret): SecretContent {
  const leaf = attempt(() => readCertifiedKey(textOf(secret, 'tls.crt'), textOf(secret, 'tls.key')));
  const mark = secret.metadata.annotations?.[OWN_CERTIFICATE];
  if (mark !== undefined && (!leaf.value || leaf.value.fingerprint === mark)) return readOwn(secret, leaf);
  return {
    foreign: 'the certificate is not from the operator: delete the Secret, or use --tls-cert-file',
  };
}

function readOwn(secret: Secret, leaf: Attempt<CertifiedKey>): SecretContent {
  const authorities = attempt(() => readCertificates(textOf(secret, 'ca.crt')));
  const bundle = authorities.value ?? [];
  const { value: served } = leaf;
  const trusted = served ? attempt(() => anchored(served, bundle)) : leaf;
  const issuer = attempt(() => keyed(bundle, textOf(secret, 'ca.key')));
  const nextKey = textOf(secret, 'next-ca.key');
  const next: Attempt<CertifiedKey> = nextKey === '' ? {} : attempt(() => keyed(bundle, nextKey));
  const parts = { 'ca.crt': authorities, 'tls.crt': trusted, 'ca.key': issuer, 'next-ca.key': next };
  const damage = Object.entries<Attempt<unknown>>(parts).flatMap(([key, { problem }]) =>
    problem === undefined ? [] : [`${key}: ${problem}`],
  );
  return {
    material: { leaf: trusted.value, issuer: issuer.value, next: next.value, bundle },
    damage,
  };
}

/** Returns the leaf if one of the authorities is in, or has signed, its chain. @throws Error otherwise. */
function anchored(leaf: CertifiedKey, authorities: readonly Certificate[]): CertifiedKey {
  if (isAnchored(readCertificates(leaf.pem), authorities)) return leaf;
  throw new Error('the CA that signed it is not in ca.crt');
}

/** The authority that the key belongs to. @throws Error if there is none. */
function keyed(bundle: readonly Certificate[], keyPem: string): CertifiedKey {
  for (const { pem } of bundle) {
    const { value } = attempt(() => readCertifiedKey(pem, keyPem));
    if (value) return value;
  }
  throw new Error('expected the private key of a CA in ca.crt');
}

/** A value, or why there is none. */
type Attempt<T> = { readonly value?: T; readonly problem?: string };

function attempt<T>(read: () => T): Attempt<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { problem: toError(error).message };
  }
}

/** The decoded value; empty if it is missing. */
function textOf({ data }: Secret, key: Key): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}

/** The Secret's values for the material, base64; null deletes one (a JSON merge patch). */
export function secretData({ leaf, issuer, next, bundle }: KeyMaterial): Record<Key, string | null> {
  const base64 = (text: string | undefined) =>
    text === undefined ? null : Buffer.from(text).toString('base64');
  return {
    'tls.crt': base64(leaf?.pem ?? ''),
    'tls.key': base64(leaf?.keyPem ?? ''),
    'ca.crt': base64(pemOf(bundle)),
    'ca.key': base64(issuer?.keyPem),
    'next-ca.key': base64(next?.keyPem),
  };
}

export interface StoredContent {
  readonly content: SecretContent;
  readonly resourceVersion: string | undefined;
}

export type CertificateSecret = ReturnType<typeof certificateSecret>;

/** The Secret that all replicas share. Every write is a compare-and-swap: of concurrent writers, one wins. */
export function certificateSecret(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
  namespace: string,
) {
  const ref = { namespace, name: TLS_SECRET };
  return {
    ...ref,
    /** Reads from the API server, not from a cache. Undefined if it does not exist. */
    async read(signal: AbortSignal): Promise<StoredContent | undefined> {
      const secret = await ifFound(client.get(SECRETS, ref, { signal }));
      return secret && { content: readSecret(secret), resourceVersion: secret.metadata.resourceVersion };
    },
    /** Creates the Secret. Returns false if it already exists. */
    async create(material: KeyMaterial, signal: AbortSignal): Promise<boolean> {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...ref, labels: OWN_LABELS, ...mark(material) },
        type: 'kubernetes.io/tls',
        data: Object.fromEntries(Object.entries(secretData(material)).filter(([, value]) => value !== null)),
      };
      try {
        await client.create(SECRETS, secret, { signal });
        return true;
      } catch (error) {
        if (isAlreadyExists(error)) return false;
        throw error;
      }
    },
    /** Replaces our values. Rejects with a conflict if the Secret has changed; keeps the values of other writers. */
    async replace(
      material: KeyMaterial,
      resourceVersion: string | undefined,
      signal: AbortSignal,
    ): Promise<void> {
      const metadata = { resourceVersion, ...mark(material) };
      await client.mergePatch(SECRETS, ref, { metadata, data: secretData(material) }, { signal });
    },
  };
}

function mark({ leaf }: KeyMaterial) {
  return { annotations: { [OWN_CERTIFICATE]: leaf?.fingerprint ?? '' } };
}
