/** What several runs of one measurement came to. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError for no values. */
export function summarise(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const [min, max] = [sorted.at(0), sorted.at(-1)];
  if (min === undefined || max === undefined) throw new RangeError('expected at least one value');
  const middle = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(middle)] ?? min;
  const high = sorted[Math.ceil(middle)] ?? max;
  return { median: (low + high) / 2, min, max };
}

/** Each value by the one of the same run: what a machine that is slow for a while does to both is the same. */
export function ratios(values: readonly number[], floors: readonly number[]): readonly number[] {
  return values.map((value, i) => value / (floors[i] ?? Number.NaN));
}
