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

/** A row for each title, and a column for each version, both in the order in which they ran. */
export function versionTable(results: readonly Result[]): string {
  const versions = [...new Set(results.map(({ version }) => version))];
  const titles = [...new Set(results.map(({ title }) => title))];
  const cell = (title: string, version: string) => {
    const found = results.find((result) => result.title === title && result.version === version);
    if (found === undefined) throw new Error(`no result for ${version}: ${title}`);
    return found.holds ? 'yes' : 'no';
  };
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [
    line(['Kubernetes', ...versions.map((version) => version.slice(1))]),
    `|---|${'---|'.repeat(versions.length)}\n`,
    ...titles.map((title) => line([title, ...versions.map((version) => cell(title, version))])),
  ].join('');
}
