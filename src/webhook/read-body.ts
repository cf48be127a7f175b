import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** etcd takes objects of 1.5 MiB, and an update's review carries two, with JSON around them. */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;
/** How many times the limit is read, and dropped, before the connection is closed on the caller. */
const PATIENCE = 2;
/** With a charset or the like behind it, or not. */
const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;

/**
 * Reads the JSON body of a call, keeping no more of it than the limit. Rejects with HttpError 413, 415 or
 * 400. How long that may take is the caller's to say.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  requireJson(request);
  const body = await readBody(request);
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not UTF-8');
  try {
    return JSON.parse(body.toString());
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}

function requireJson({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw new HttpError(415, 'the content type must be application/json');
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new HttpError(415, 'the body must not be compressed');
  }
}

/** Past the limit the rest is read and dropped, so that the caller gets to read the answer. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new HttpError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`));
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) chunks.push(chunk);
      else chunks.length = 0;
      if (length > MAX_BODY_BYTES * PATIENCE) refuse();
    });
    request.on('end', () => {
      if (length > MAX_BODY_BYTES) refuse();
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
      // A connection keeps its last request until the next one, and with it these.
      chunks.length = 0;
    });
    request.on('error', (err) => reject(new HttpError(400, 'the body broke off', { cause: err })));
  });
}
