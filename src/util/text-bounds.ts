/** Far more than templates and configurations of Envoy have. Takes about 100 ms to check. */
const MAX_PARTS = 20_000;
/** What each text costs, in parts, even if it is empty. */
const PARTS_OF_TEXT = 20;

const PARTS: ReadonlySet<number> = new Set([...'\n\r,[{'].map((part) => part.charCodeAt(0)));

/**
 * Why the texts of a ConfigMap are too large to parse within one turn of the event loop; undefined if they are not.
 * Each value of YAML is on a line of its own, or behind a comma or bracket.
 */
export function textExcess(data: Readonly<Record<string, string>>): string | undefined {
  let parts = 0;
  for (const text of Object.values(data)) {
    parts += PARTS_OF_TEXT;
    for (let at = 0; at < text.length; at += 1) if (PARTS.has(text.charCodeAt(at))) parts += 1;
    if (parts > MAX_PARTS)
      return `the ConfigMap has more than ${MAX_PARTS} lines, commas and brackets: shorten it`;
  }
  return undefined;
}
