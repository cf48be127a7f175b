/** By far more than templates and configurations of Envoy have, and checked in about 100 ms. */
const MAX_PARTS = 20_000;
/** A text costs as much as so many parts, even an empty one. */
const PARTS_OF_TEXT = 20;

const PARTS: ReadonlySet<number> = new Set([...'\n\r,[{'].map((part) => part.charCodeAt(0)));

/**
 * Why the texts of a ConfigMap are more than is parsed within one turn of the event loop; undefined where they are not.
 * Each value of YAML is on a line of its own, or behind a comma or bracket.
 */
export function textExcess(data: Readonly<Record<string, string>>): string | undefined {
  let parts = 0;
  for (const text of Object.values(data)) {
    parts += PARTS_OF_TEXT;
    for (let at = 0; at < text.length; at += 1) if (PARTS.has(text.charCodeAt(at))) parts += 1;
    if (parts > MAX_PARTS)
      return `the ConfigMap has more than ${MAX_PARTS} lines, commas and brackets: write less`;
  }
  return undefined;
}
