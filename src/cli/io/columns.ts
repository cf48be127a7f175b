/** Rows of text in columns, as kubectl prints them; the first row is the heading. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<readonly number[]>(
    (most, row) => row.map((cell, i) => Math.max(cell.length, most[i] ?? 0)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd((widths[i] ?? 0) + 3))
      .join('')
      .trimEnd(),
  );
}
