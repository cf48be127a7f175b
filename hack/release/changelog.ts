const UNRELEASED = '## [Unreleased]\n';

/** The section *Unreleased* of a changelog, without its heading; undefined if it lists nothing. */
export function unreleased(changelog: string): string | undefined {
  const start = changelog.indexOf(UNRELEASED);
  if (start < 0) return undefined;
  const [section = ''] = changelog.slice(start + UNRELEASED.length).split(/^## /m);
  const hasEntry = section.split('\n').some((line) => line.trim() !== '' && !line.startsWith('#'));
  return hasEntry ? `${section.trim()}\n` : undefined;
}

/** The changelog with its section *Unreleased* under the heading of a version, and an empty *Unreleased* above. */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(UNRELEASED, () => `${UNRELEASED}\n## [${version}] - ${date}\n`);
}
