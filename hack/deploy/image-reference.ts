/** An image in the fields of kustomize: `newTag` or `digest`, as in the reference. */
export interface ImageParts {
  readonly newName: string;
  readonly newTag?: string;
  readonly digest?: string;
}

/** Splits `registry:5000/name:tag` or `name@sha256:…`. A colon before the last slash precedes a port. */
export function imageParts(reference: string): ImageParts {
  const [beforeDigest = '', digest] = reference.split('@');
  const colon = beforeDigest.lastIndexOf(':');
  const hasTag = colon > beforeDigest.lastIndexOf('/');
  const newName = hasTag ? beforeDigest.slice(0, colon) : beforeDigest;
  if (digest !== undefined) return { newName, digest };
  return hasTag ? { newName, newTag: beforeDigest.slice(colon + 1) } : { newName, newTag: 'latest' };
}
