import { isUtf8 } from 'node:buffer';
import { HttpError } from './http-error.ts';
import { jsonExcess } from './json-bounds.ts';

/** Parses a JSON body. @throws HttpError 400 or 413. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not UTF-8');
  const excess = jsonExcess(body);
  if (excess !== undefined) {
    throw new HttpError(413, `the body ${excess}`, { refusal: 'too_large' });
  }
  try {
    return JSON.parse(body.toString());
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}
