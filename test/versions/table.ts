/** One result of test/integration/operator/versions.test.ts. */
export interface Result {
  /** Such as `v1.31.0`. */
  readonly version: string;
  /** What was tried. */
  readonly title: string;
  /** Whether the version has it. Without it, the test saw what happens instead. */
  readonly holds: boolean;
}

/** The table of docs/install.md: its lines, which a run replaces. */
export const TABLE = /^\| Kubernetes \|.*\n(?:\|.*\n)+/m;

/** A column for each version, and a row for each title, in the order in which they ran; one for all that hold everywhere. */
export function versionTable(results: readonly Result[]): string {
  const versions = [...new Set(results.map(({ version }) => version))];
  const titles = [...new Set(results.map(({ title }) => title))];
  const rows = titles.map((title) => {
    const cells = versions.map((version) => {
      const found = results.find((result) => result.title === title && result.version === version);
      if (found === undefined) throw new Error(`no result for ${version}: ${title}`);
      return found.holds ? 'yes' : 'no';
    });
    return [title, ...cells];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [
    line(['Kubernetes', ...versions.map((version) => version.slice(1))]),
    `|---|${'---|'.repeat(versions.length)}\n`,
    ...rows.filter((cells) => cells.includes('no')).map(line),
    line(['all else that was tried', ...versions.map(() => 'yes')]),
  ].join('');
}
