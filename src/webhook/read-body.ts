import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type Arrival, type BodyBudget, noRoom } from './body-budget.ts';
import { HttpError } from './http-error.ts';

/** etcd takes objects of 1.5 MiB, and an update's review carries two, with JSON around them. */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;
/** How many times the limit is read, and dropped, before the connection is closed on the caller. */
const PATIENCE = 2;
/** With a charset or the like behind it, or not. */
const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;
/** What a body without a declared length begins with. */
const FIRST_BYTES = 64 * 1024;

/** @throws HttpError 400; what it says holds nothing of the body. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new HttpError(400, 'the body is not UTF-8');
  try {
    return JSON.parse(body.toString());
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}

/** @throws HttpError 415 */
export function requireJson({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw new HttpError(415, 'the content type must be application/json');
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new HttpError(415, 'the body must not be compressed');
  }
}

/**
 * Reads the body of a call, and holds no more of it than the limit, and no more than the budget has room for. Rejects
 * with HttpError 413, 503 or 400. The caller bounds the time.
 */
export function readBody(request: IncomingMessage, budget: BodyBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const declared = Number(request.headers['content-length'] ?? Number.NaN);
    let held: Buffer | undefined;
    let arrival: Arrival | undefined;
    let length = 0;
    let isOver = false;
    const end = () => {
      isOver = true;
      // A connection keeps its last request until the next one, and with it this.
      held = undefined;
      arrival?.end();
    };
    const refuse = (err: HttpError) => {
      end();
      reject(err);
    };
    const tooLarge = () =>
      new HttpError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`, { refusal: 'too_large' });
    /** Copies the piece behind the others: small pieces that are kept as they came hold many times their size. */
    const add = (piece: Buffer, before: number) => {
      const needed = Number.isNaN(declared) ? length : declared;
      if (held === undefined || held.length < needed) {
        const bytes = Math.min(Math.max(needed, before * 2, FIRST_BYTES), MAX_BODY_BYTES);
        arrival ??= budget.arrive(() => refuse(noRoom()));
        if (!arrival.grow(bytes)) return refuse(noRoom());
        const larger = Buffer.allocUnsafeSlow(bytes);
        held?.copy(larger, 0, 0, before);
        held = larger;
      }
      piece.copy(held, before);
    };
    request.on('data', (piece: Buffer) => {
      const before = length;
      length += piece.length;
      if (length > MAX_BODY_BYTES * PATIENCE) refuse(tooLarge());
      else if (length > MAX_BODY_BYTES || declared > MAX_BODY_BYTES) end();
      else if (length === declared && before === 0) held = piece;
      else if (!isOver) add(piece, before);
    });
    request.on('end', () => {
      const body = held?.subarray(0, length) ?? Buffer.alloc(0);
      end();
      if (length > MAX_BODY_BYTES) reject(tooLarge());
      else resolve(body);
    });
    request.on('error', (err) => refuse(new HttpError(400, 'the body broke off', { cause: err })));
  });
}
