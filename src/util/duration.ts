const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
/** The longest delay of Node's timers, near 25 days: Node fires anything longer after 1 ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A duration in Go's format (`30s`, `1h30m`) in milliseconds; undefined if it is none, or longer than `longestMs`. */
export function parseDuration(text: string, longestMs = MAX_TIMER_MS): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, n, unit = '']) => sum + Number(n) * (UNIT_MS.get(unit) ?? 0), 0);
  return total <= longestMs ? total : undefined;
}
