/** The path to a value: keys of objects and indices of lists. */
export type Path = readonly (string | number)[];

/** A path as users write it: `containers[0].image`, `labels["example.com/team"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** A path as a JSON Pointer (RFC 6901). `~` is escaped before `/`, or `~1` would become `~01`. */
export function pointer(path: Path): string {
  let text = '';
  for (const segment of path) {
    const key = String(segment);
    const isPlain = !key.includes('~') && !key.includes('/');
    text += `/${isPlain ? key : key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return text;
}
