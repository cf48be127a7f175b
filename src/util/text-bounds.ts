import { type JsonValue, tryJson } from './json.ts';

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

/** In characters. Limit of all annotations of an object, in bytes (k8s.io/apimachinery, TotalAnnotationSizeLimitB). */
export const MAX_LENGTH = 256 * 1024;
/** The deepest value that the operator writes into an annotation, a container in a status, nests 12 deep. */
const MAX_DEPTH = 32;

/** Why an annotation is too large to parse, as the end of a sentence that begins with its key; else undefined. */
export function sizeProblem(text: string): string | undefined {
  if (text.length > MAX_LENGTH) {
    return `has ${text.length} characters: use at most ${MAX_LENGTH}, the limit for all annotations of a pod together`;
  }
  return jsonExcess(text, { depth: MAX_DEPTH, values: Number.POSITIVE_INFINITY })
    ? `nests lists and objects deeper than ${MAX_DEPTH}: flatten it`
    : undefined;
}

/** The value of an annotation in JSON; undefined if it is too large or not JSON. Its text is not trusted. */
export function parseAnnotation(text: string): JsonValue | undefined {
  return sizeProblem(text) === undefined ? tryJson(text) : undefined;
}

const [QUOTE, ESCAPE, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** Which bound JSON text exceeds, if it is JSON. Takes no memory, and two thirds of the time of parsing. */
export function jsonExcess(
  text: string,
  most: { readonly depth: number; readonly values: number },
): 'depth' | 'values' | undefined {
  let [depth, values] = [0, 1];
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isString && code === ESCAPE) at += 1;
    else if (code === QUOTE) isString = !isString;
    else if (isString) continue;
    else if (code === COMMA) values += 1;
    else if (OPENING.includes(code)) {
      depth += 1;
      values += 1;
    } else if (CLOSING.includes(code)) depth -= 1;
    if (values > most.values) return 'values';
    if (depth > most.depth) return 'depth';
  }
  return undefined;
}
