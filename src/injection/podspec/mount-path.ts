/** A path that is not in its shortest form: it is relative, or has an empty segment, `.` or `..`. RE2 reads it, too. */
export const UNCLEAN_PATH = '^[^/]|/[.]{0,2}(/|$)';

const UNCLEAN = new RegExp(UNCLEAN_PATH);

/** The place in a container that a path names, as the kubelet reads it: `/conf/`, `//conf` and `conf` are all `/conf`. */
export function placeOf(path: string): string {
  if (!UNCLEAN.test(path)) return path;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return `/${segments.join('/')}`;
}
