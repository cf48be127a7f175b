const FORM = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Whether a text is MAJOR.MINOR.PATCH. Releases have no pre-release part. */
function isVersion(text: string): boolean {
  return FORM.test(text);
}

function isNewer(version: string, current: string): boolean {
  const [a, b] = [version, current].map((each) => each.split('.').map(Number));
  const differing = a?.findIndex((part, index) => part !== b?.[index]) ?? -1;
  return differing >= 0 && (a?.[differing] ?? 0) > (b?.[differing] ?? 0);
}

/** Why a version cannot follow the current one; empty if it can. */
export function versionObstacles(version: string, current: string): string[] {
  if (!isVersion(version))
    return [`VERSION=${version} is not a semantic version: write MAJOR.MINOR.PATCH, such as VERSION=1.2.3`];
  return isNewer(version, current)
    ? []
    : [`VERSION=${version} is not newer than ${current}, the version in package.json`];
}

/**
 * A file of the project with the next version: in package.json and its lock, the constant VERSION, the label of the
 * image, and the names of images and of the npm tarball in manifests, documents and tests.
 */
export function withVersion(text: string, from: string, to: string): string {
  const before = [
    'envoy-initializer(?:-capture)?[:-]',
    '"name": "envoy-initializer",\\s+"version": "',
    "\\bVERSION = '",
    'image\\.version="',
    'name: envoy-initializer\\nversion: ',
    '\\nappVersion: ',
  ];
  const own = new RegExp(`(${before.join('|')})${from.replaceAll('.', '\\.')}(?![\\w-]|\\.\\d)`, 'g');
  return text.replace(own, (_, start: string) => `${start}${to}`);
}
