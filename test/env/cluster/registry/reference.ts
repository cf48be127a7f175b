/** An image's name in full. */
export interface Reference {
  /** Of the registry, as in `docker.io`. */
  readonly host: string;
  /** As in `library/busybox`. */
  readonly repository: string;
  readonly tag: string;
}

/** Reads a name as container runtimes do: `busybox` is `docker.io/library/busybox:latest`. Names by digest are not for here. */
export function parseReference(name: string): Reference {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  // The first part is a host where it looks like one.
  const hasHost = first === 'localhost' || /[.:]/.test(first);
  const host = hasHost ? first : 'docker.io';
  const rest = hasHost ? name.slice(slash + 1) : name;
  const [, path = '', tag = 'latest'] = /^([a-z0-9._/-]+?)(?::([\w.-]+))?$/.exec(rest) ?? [];
  if (path === '') throw new Error(`expected the name of an image, as in busybox:latest, got ${name}`);
  return { host, repository: host === 'docker.io' && !path.includes('/') ? `library/${path}` : path, tag };
}

export function formatReference({ host, repository, tag }: Reference): string {
  return `${host}/${repository}:${tag}`;
}
