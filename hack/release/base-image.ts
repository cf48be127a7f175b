const BASE = /^ARG BASE=(\S+)$/m;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** The reference that a Dockerfile names by its first `ARG BASE=`. Throws where it names none. */
export function baseOf(dockerfile: string): string {
  const base = BASE.exec(dockerfile)?.[1];
  if (base === undefined) throw new Error('expected a line `ARG BASE=image` in the Dockerfile, got none');
  return base;
}

/** The same Dockerfile with this digest in place of that of its base, and the tag as it was. */
export function withBaseDigest(dockerfile: string, digest: string): string {
  return dockerfile.replace(BASE, `ARG BASE=${withoutDigest(baseOf(dockerfile))}@${digest}`);
}

/** `node:26-slim` of `node:26-slim@sha256:…`. */
export function withoutDigest(reference: string): string {
  return reference.split('@')[0] ?? reference;
}

/** Whether a reference names its image by digest, so that it always means the same one. */
export function hasDigest(reference: string): boolean {
  return DIGEST.test(reference);
}
