import type { JsonValue } from './json.ts';

/** The text cut to a number of UTF-16 units, with an ellipsis if something is missing. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  // Half a surrogate pair is not a character.
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/** Length of a quotation in a message, in UTF-16 units. */
const QUOTED = 80;

/** The value as messages quote it: as JSON, cut to a readable length. */
export function quote(value: JsonValue): string {
  return clip(JSON.stringify(value), QUOTED);
}

/** The text in double quotes, cut within them. */
export function quoteText(text: string, length = QUOTED): string {
  return JSON.stringify(clip(text, length));
}

/** The first names, and the number of the others, such as `a, b and 3 more`. */
export function listed(names: readonly string[], most = 5): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Such as `1 pod`, `2 pods`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
