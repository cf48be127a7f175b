import { isUtf8 } from 'node:buffer';
import { jsonExcess } from '../../util/text-bounds.ts';
import { HttpError } from './http-error.ts';

/** A body up to this length is parsed in some 10 ms, whatever its content: less than a body of the most values takes. */
const SMALL = 256 * 1024;
/** An object that etcd accepts (1.5 MiB) has fewer, unless its values have fewer than 26 bytes each. */
const MAX_VALUES = 60_000;
/** A pod nests about 20 levels deep. */
const MAX_DEPTH = 100;
const MOST = { depth: MAX_DEPTH, values: MAX_VALUES };
const TOO_COMPLEX = {
  values: `has more than ${MAX_VALUES} values`,
  depth: `nests lists and objects deeper than ${MAX_DEPTH}`,
};

/** Parses a JSON body. @throws HttpError 400 or 413. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not UTF-8');
  const text = body.toString();
  // More would take too long for one turn of the event loop.
  const excess = body.length > SMALL ? jsonExcess(text, MOST) : undefined;
  if (excess !== undefined)
    throw new HttpError(413, `the body ${TOO_COMPLEX[excess]}`, { refusal: 'too_large' });
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}
