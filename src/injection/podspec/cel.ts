/** A string as a literal of CEL, whose escapes are a superset of JSON's. Replaces halves of surrogate pairs. */
export function celString(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

/** A list of strings as a literal of CEL. */
export function celStrings(texts: readonly string[]): string {
  return celGroup('[', texts.map(celString), ']');
}

const LINE = 100;

/** Items between brackets: on one line if they fit, else one per line. */
export function celGroup(open: string, items: readonly string[], close: string): string {
  const line = `${open}${items.join(', ')}${close}`;
  if (line.length <= LINE && !line.includes('\n')) return line;
  // Literals contain no line breaks: they are escaped.
  return `${open}\n  ${items.join(',\n').replaceAll('\n', '\n  ')}\n${close}`;
}

/** An item of a list that exists only if the condition holds. */
export function celWhen(condition: string, item: string): string {
  return `?(${condition} ? optional.of(${item}) : optional.none())`;
}

/** Whether the object has the field. The API server omits fields that are null or empty. */
export function celHas(path: string): string {
  return `has(object.${path})`;
}

/** Whether the pod has the label or annotation, with any value. */
export function celHasKey(map: 'labels' | 'annotations', key: string): string {
  return `${celHas(`metadata.${map}`)} && ${celString(key)} in object.metadata.${map}`;
}

/** Whether the pod's label is `"true"`, or its annotation if it has no such label. */
export function celSaysTrue(key: string): string {
  const [label, annotation] = ['labels', 'annotations'].map(
    (map) => `object.metadata.${map}[${celString(key)}] == "true"`,
  );
  return `${celHasKey('labels', key)} ? ${label} : ${celHasKey('annotations', key)} && ${annotation}`;
}

/** Whether one of the expressions holds. */
export function celAnyOf(expressions: readonly string[]): string {
  return expressions.map((expression) => `(${expression})`).join(' ||\n');
}

/** The containers and init containers of the pod. */
export const CEL_ALL_CONTAINERS =
  '(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))';
