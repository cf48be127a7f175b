import { StringDecoder } from 'node:string_decoder';
import { isArray, own, ownString, tryJson } from '../../util/json.ts';
import type { TransportResponse } from '../client/transport.ts';
import { type ApiError, apiErrorFrom, TransportError } from './api-error.ts';

/** A list. */
export interface List<I> {
  readonly items: readonly I[];
  readonly resourceVersion: string;
}

/** One page of a list, as it is on the wire. */
export interface ListPage extends List<unknown> {
  /** Token of the next page; undefined on the last one. */
  readonly continue: string | undefined;
}

/** Longest answer in bytes, and line of a stream: the largest object that etcd stores (1.5 MiB), with room for escapes. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The parsed body of a successful response.
 * @throws ApiError for any other status; TransportError `EBADBODY` if the body is not JSON, `ETOOLARGE` if it is
 * longer than any object.
 */
export async function bodyOf(response: TransportResponse): Promise<unknown> {
  const text = await textBodyOf(response);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`expected JSON, got ${JSON.stringify(text.slice(0, 80))}`, 'EBADBODY', cause);
  }
}

/** The page of a list in a parsed body. @throws TypeError if the body is not a list (meta/v1 `List`). */
export function listPageOf(body: unknown): ListPage {
  const metadata = own(body, 'metadata');
  const resourceVersion = ownString(metadata, 'resourceVersion');
  // Go writes a nil slice as null.
  const items = own(body, 'items') ?? [];
  if (!isArray(items) || resourceVersion === undefined)
    throw new TypeError('expected a list with items and a metadata.resourceVersion');
  return { items, resourceVersion, continue: ownString(metadata, 'continue') || undefined };
}

/** The error of an unsuccessful response; reads its body to the end. */
export async function errorOf(response: TransportResponse): Promise<ApiError> {
  const text = await textOf(response);
  // The error quotes a text, such as a proxy's error page.
  const body = tryJson(text) ?? text;
  return apiErrorFrom(response.statusCode, body, String(response.headers['retry-after'] ?? ''));
}

/** The text of a successful response. @throws ApiError for any other status; TransportError `ETOOLARGE`. */
export async function textBodyOf(response: TransportResponse): Promise<string> {
  if (response.statusCode < 200 || response.statusCode > 299) throw await errorOf(response);
  return await textOf(response);
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES)
      throw new TransportError(`expected an answer of at most ${MAX_BYTES} bytes, got more`, 'ETOOLARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** A line of the stream violates the protocol; the position in the stream is lost. */
export class MalformedLineError extends Error {
  override readonly name = 'MalformedLineError';
}

/**
 * Splits a byte stream into lines and parses each as JSON. Joins a character that the end of a chunk has cut.
 * A last line without a newline means a cut stream: it is dropped, since the server sends it again.
 * @throws MalformedLineError for a line that is not JSON or is longer than 16 Mi characters.
 */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<unknown, void, undefined> {
  const decoder = new StringDecoder('utf8');
  // Pieces of an unfinished line are joined once, at its end, so that a large object is not copied for each chunk.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = pieces.length === 0 ? text.slice(start, end) : pieces.join('') + text.slice(start, end);
      pieces = [];
      length = 0;
      start = end + 1;
      if (line.trim() !== '') yield parse(line);
    }
    if (start < text.length) pieces.push(text.slice(start));
    length += text.length - start;
    if (length > MAX_BYTES)
      throw new MalformedLineError(`expected a line of at most ${MAX_BYTES} characters, got more`);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new MalformedLineError(`expected a line of JSON, got ${JSON.stringify(line.slice(0, 80))}`, {
      cause,
    });
  }
}
