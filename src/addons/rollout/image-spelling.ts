/** Other spellings of an image reference, as containerd, CRI-O and the kubelet read it. */

const HUB = 'docker.io/';
const LIBRARY = 'library/';
/** The repository has the registry, as written. The colon of a port is followed by a path, that of a tag is not. */
const REFERENCE = /^(?<repository>.*?)(?::(?<tag>[^:/]*))?(?<digest>@sha256:[0-9a-f]{64})?$/;
/** With a digest, the tag is not read. */
const ANY_TAG = 'restarted';

function parse(image: string) {
  const { repository = image, tag, digest = '' } = REFERENCE.exec(image)?.groups ?? {};
  return { repository, tag, digest };
}

/** The repository in full: without a registry it is one of Docker Hub. */
function fullName(repository: string): string {
  const [first = '', ...path] = repository.split('/');
  const hasRegistry = path.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const full = hasRegistry ? repository : HUB + repository;
  const onHub = full.startsWith(HUB) ? full.slice(HUB.length) : undefined;
  return onHub !== undefined && !onHub.includes('/') ? HUB + LIBRARY + onHub : full;
}

/** Whether two references are spellings of one image: a rollout uses the other one to restart a container. */
export function isSameImage(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [parse(a), parse(b)];
  if (fullName(one.repository) !== fullName(other.repository)) return false;
  if (one.digest !== '' && other.digest !== '') return one.digest === other.digest;
  return one.digest === other.digest && (one.tag ?? 'latest') === (other.tag ?? 'latest');
}

/**
 * The image in another spelling. The kubelet restarts a container whose spelling changes, and pulls nothing. Undefined
 * if there is none: for a tag of a registry other than Docker Hub.
 */
export function respelled(image: string): string | undefined {
  const { repository, tag, digest } = parse(image);
  const full = fullName(repository);
  const end = `${tag === undefined ? '' : `:${tag}`}${digest}`;
  if (full !== repository) return full + end;
  if (full.startsWith(HUB)) {
    const short = full.slice(HUB.length);
    return (short.startsWith(LIBRARY) ? short.slice(LIBRARY.length) : short) + end;
  }
  if (digest === '') return undefined;
  return tag === undefined ? `${repository}:${ANY_TAG}${digest}` : repository + digest;
}
