const BASE = /^ARG BASE=(\S+)$/m;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** The reference in the first `ARG BASE=` of a Dockerfile. @throws Error without one. */
export function baseOf(dockerfile: string): string {
  const base = BASE.exec(dockerfile)?.[1];
  if (base === undefined) throw new Error('expected a line `ARG BASE=image` in the Dockerfile, got none');
  return base;
}

/** The Dockerfile with another digest of its base and the same tag. */
export function withBaseDigest(dockerfile: string, digest: string): string {
  return dockerfile.replace(BASE, `ARG BASE=${withoutDigest(baseOf(dockerfile))}@${digest}`);
}

/** `node:26-slim` of `node:26-slim@sha256:…`. */
export function withoutDigest(reference: string): string {
  return reference.split('@')[0] ?? reference;
}

/** Whether a reference has a digest, so that it always means the same image. */
export function hasDigest(reference: string): boolean {
  return DIGEST.test(reference);
}
