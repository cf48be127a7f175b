import type { Location } from './diagnostic.ts';

/** Returns a function from offsets to lines and columns. It indexes the line breaks once, at its first call. */
export function locationsIn(text: string): (offset: number) => Location {
  let breaks: readonly number[] | undefined;
  return (offset) => {
    breaks ??= breaksIn(text);
    const before = countBelow(breaks, offset);
    return { line: before + 1, column: offset - (breaks[before - 1] ?? -1) };
  };
}

function breaksIn(text: string): readonly number[] {
  const breaks: number[] = [];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks.push(at);
  return breaks;
}

/** How many of the ascending numbers are below the limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
