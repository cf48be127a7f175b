import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { jsonExcess } from '../../util/text-bounds.ts';
import { type Arrival, type BodyBudget, noRoom } from './body-budget.ts';
import { HttpError } from './http-error.ts';

/** etcd accepts objects of 1.5 MiB, and the review of an update has two, with JSON around them. */
export const MAX_BODY_BYTES = 7 * 1024 * 1024;
/** A body of up to this many times the limit is read and dropped before the connection is closed. */
const PATIENCE = 2;
/** With or without parameters such as a charset. */
const JSON_TYPE = /^\s*application\/json\s*(;|$)/i;
/** The first buffer for a body without a declared length. */
const FIRST_BYTES = 64 * 1024;
/** Beyond this many pieces, a body needs a minimum size per piece: chunks of one byte cost 100 times as much CPU. */
const FREE_PIECES = 1024;
const LEAST_PIECE_BYTES = 64;

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
 * Reads the body of a call, up to the limit and within the budget. Rejects with HttpError 413, 503 or 400. The caller
 * limits the time.
 */
export function readBody(request: IncomingMessage, budget: BodyBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    /** NaN if the length is not declared. */
    const declared = Number(request.headers['content-length']);
    let held: Buffer | undefined;
    let arrival: Arrival | undefined;
    let [length, pieces] = [0, 0];
    let isOver = false;
    const end = () => {
      isOver = true;
      // A connection keeps its last request, and with it this buffer, until the next one.
      held = undefined;
      if (arrival) budget.release(arrival);
    };
    const refuse = (err: HttpError) => {
      end();
      reject(err);
    };
    /** Copies the piece into the buffer: small pieces that are kept as they are use many times their size. */
    const add = (piece: Buffer, before: number) => {
      const room = held?.length ?? 0;
      if (room < length) {
        const wanted = declared || Math.min(Math.max(length, room * 2, FIRST_BYTES), MAX_BODY_BYTES);
        arrival ??= budget.arrive(() => refuse(noRoom()));
        if (!budget.hold(arrival, wanted)) return refuse(noRoom());
        const larger = Buffer.allocUnsafeSlow(wanted);
        held?.copy(larger);
        held = larger;
      }
      if (held) piece.copy(held, before);
    };
    request.on('data', (piece: Buffer) => {
      const before = length;
      length += piece.length;
      pieces += 1;
      if (pieces > FREE_PIECES && length < pieces * LEAST_PIECE_BYTES) request.destroy(tinyPieces());
      else if (length > MAX_BODY_BYTES * PATIENCE) refuse(tooLarge());
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
    request.on('error', (err) =>
      refuse(err instanceof HttpError ? err : new HttpError(400, 'the body ended early')),
    );
  });
}

function tooLarge(): HttpError {
  return new HttpError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`, 'too_large');
}

function tinyPieces(): HttpError {
  return new HttpError(400, 'the body arrives in too many small chunks', 'malformed');
}

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
  if (excess !== undefined) throw new HttpError(413, `the body ${TOO_COMPLEX[excess]}`, 'too_large');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new HttpError(400, body.length === 0 ? 'the body is empty' : 'the body is not JSON');
  }
}
