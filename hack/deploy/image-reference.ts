/** An image as kustomize is told of it: `newTag` or `digest`, whichever the reference has. */
export interface ImageParts {
  readonly newName: string;
  readonly newTag?: string;
  readonly digest?: string;
}

/** Takes `registry:5000/name:tag` or `name@sha256:…` apart. A colon before the last slash is a port's. */
export function imageParts(reference: string): ImageParts {
  const [beforeDigest = '', digest] = reference.split('@');
  const colon = beforeDigest.lastIndexOf(':');
  const hasTag = colon > beforeDigest.lastIndexOf('/');
  const newName = hasTag ? beforeDigest.slice(0, colon) : beforeDigest;
  if (digest !== undefined) return { newName, digest };
  return hasTag ? { newName, newTag: beforeDigest.slice(colon + 1) } : { newName, newTag: 'latest' };
}
