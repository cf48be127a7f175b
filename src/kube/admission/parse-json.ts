import { isUtf8 } from 'node:buffer';
import { HttpError } from './http-error.ts';

/** A body up to this length is parsed in some 10 ms, whatever its content: less than a body of the most values takes. */
const SMALL = 256 * 1024;
/** An object that etcd accepts (1.5 MiB) has fewer, unless its values have fewer than 26 bytes each. */
const MAX_VALUES = 60_000;
/** A pod nests about 20 levels deep. */
const MAX_DEPTH = 100;

const [QUOTE, ESCAPE, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Parses a JSON body. @throws HttpError 400 or 413. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not UTF-8');
  const excess = body.length > SMALL ? jsonExcess(body) : undefined;
  if (excess !== undefined) throw new HttpError(413, `the body ${excess}`, { refusal: 'too_large' });
  try {
    return JSON.parse(body.toString());
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}

/**
 * Why JSON text is too complex for one turn of the event loop; undefined if it is not. The check takes two thirds of
 * the time of parsing.
 */
function jsonExcess(text: Buffer): string | undefined {
  let [depth, values] = [0, 1];
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case QUOTE:
        at = endOfString(text, at + 1);
        break;
      case COMMA:
        values += 1;
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
    }
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
    if (depth > MAX_DEPTH) return `nests lists and objects deeper than ${MAX_DEPTH}`;
  }
  return undefined;
}

/** The index of the quote that ends the string; the end of the text if there is none. */
function endOfString(text: Buffer, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === QUOTE) return at;
    if (text[at] === ESCAPE) at += 1;
  }
  return text.length;
}
