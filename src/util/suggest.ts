/** Longer names get no suggestion and are not suggested. */
const LONGEST = 64;
/** Only the first names are compared: real lists of names are short. */
const MOST = 100;

/** The known name that the user probably meant; undefined if none is near. */
export function suggest(written: string, known: readonly string[]): string | undefined {
  if (written.length > LONGEST) return undefined;
  let least = Math.max(1, Math.floor(written.length / 3)) + 1;
  let best: string | undefined;
  for (const name of known.slice(0, MOST)) {
    // The distance is at least the difference of the lengths.
    if (Math.abs(name.length - written.length) >= least) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/** Whether one of the two parts of a key of labels or annotations is right, and the other nearly. */
export function resembles(written: string, key: string): boolean {
  const [prefix, name] = parts(written);
  const [rightPrefix, rightName] = parts(key);
  if (prefix === rightPrefix) return suggest(name, [rightName]) !== undefined;
  return name === rightName && suggest(prefix, [rightPrefix]) !== undefined;
}

/** The prefix of a key, which may be empty, and its name. */
function parts(key: string): readonly [string, string] {
  const slash = key.lastIndexOf('/');
  return [key.slice(0, slash + 1), key.slice(slash + 1)];
}

/** How many letters to add, drop or change, or to swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = i > 1 && j > 1 && isSwapped ? (before[j - 2] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
