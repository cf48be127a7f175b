/** A string as a literal of CEL, whose escapes are a superset of JSON's. Half a surrogate pair is no character. */
export function celString(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

/** A list of strings as a literal of CEL. */
export function celStrings(texts: readonly string[]): string {
  return celGroup('[', texts.map(celString), ']');
}

const LINE = 100;

/** Items between brackets: on one line where they fit, else one a line. */
export function celGroup(open: string, items: readonly string[], close: string): string {
  const line = `${open}${items.join(', ')}${close}`;
  if (line.length <= LINE && !line.includes('\n')) return line;
  // No line ends inside a literal: there they are escaped.
  return `${open}\n  ${items.join(',\n').replaceAll('\n', '\n  ')}\n${close}`;
}

/** An item of a list that is there only if the condition holds. */
export function celWhen(condition: string, item: string): string {
  return `?(${condition} ? optional.of(${item}) : optional.none())`;
}

/** Whether a field of the object is there. A field that is null or empty is not: the API server has left it out. */
export function celHas(path: string): string {
  return `has(object.${path})`;
}
