import { isRecord } from '../../util/json.ts';
import type { TransportResponse } from '../client/transport.ts';
import { type ApiError, apiErrorFrom, TransportError } from './api-error.ts';

/** A list, or one page of it. */
export interface ListPage<I> {
  readonly items: readonly I[];
  readonly resourceVersion: string;
  /** Token of the next page; undefined on the last one. */
  readonly continue: string | undefined;
}

/** Longest accepted answer, in bytes: the largest object that etcd stores (1.5 MiB), with room for escapes. */
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
export function listPageOf(body: unknown): ListPage<unknown> {
  const { items, metadata }: Readonly<Record<string, unknown>> = isRecord(body) ? body : {};
  const { resourceVersion, continue: token } = isRecord(metadata) ? metadata : {};
  // Go writes a nil slice as null.
  const list = items ?? [];
  if (!Array.isArray(list) || typeof resourceVersion !== 'string') {
    throw new TypeError('expected a list with items and a metadata.resourceVersion');
  }
  return {
    items: list,
    resourceVersion,
    continue: typeof token === 'string' && token !== '' ? token : undefined,
  };
}

/** The error of an unsuccessful response; reads its body to the end. */
export async function errorOf(response: TransportResponse): Promise<ApiError> {
  const text = await textOf(response);
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's error page: the error quotes it.
  }
  return apiErrorFrom(response.status, body, response.header('retry-after'));
}

/** The text of a successful response. @throws ApiError for any other status; TransportError `ETOOLARGE`. */
export async function textBodyOf(response: TransportResponse): Promise<string> {
  if (response.status < 200 || response.status > 299) throw await errorOf(response);
  return await textOf(response);
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      throw new TransportError(
        `expected an answer of at most ${MAX_BYTES} bytes, got more`,
        'ETOOLARGE',
        undefined,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
