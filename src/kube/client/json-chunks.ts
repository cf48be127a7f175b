/** Well below the 128 kB from which on V8 collects a string only with the old generation. */
const CHUNK = 32_768;

/** A value in a body whose JSON is there already, in parts. */
export class JsonParts {
  readonly parts: Iterable<string>;

  constructor(parts: Iterable<string>) {
    this.parts = parts;
  }
}

/**
 * The JSON text of a JSON value, with long strings in parts. Where many large bodies are sent, copies of them as a whole
 * are garbage faster than V8 collects it.
 */
export function* jsonChunks(value: unknown): Generator<string, void, undefined> {
  if (value instanceof JsonParts) {
    yield* value.parts;
  } else if (typeof value === 'string' && value.length > CHUNK) {
    yield '"';
    // A pair of surrogates that is cut becomes two escapes, which are the same character.
    for (let at = 0; at < value.length; at += CHUNK) {
      yield JSON.stringify(value.slice(at, at + CHUNK)).slice(1, -1);
    }
    yield '"';
  } else if (Array.isArray(value)) {
    let separator = '[';
    for (const item of value) {
      yield separator;
      yield* jsonChunks(item);
      separator = ',';
    }
    yield value.length === 0 ? '[]' : ']';
  } else if (typeof value === 'object' && value !== null) {
    let separator = '';
    yield '{';
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      yield `${separator}${JSON.stringify(key)}:`;
      yield* jsonChunks(item);
      separator = ',';
    }
    yield '}';
  } else {
    yield JSON.stringify(value) ?? 'null';
  }
}
