import { ByteGatherer } from '../client/byte-gatherer.ts';
import { ListScanner, MAX_OBJECT_BYTES } from '../client/list-scanner.ts';
import type { TransportResponse } from '../client/transport.ts';
import { type ApiError, apiErrorFrom, TransportError } from './api-error.ts';

/** One page of a list. */
export interface ListPage<I> {
  readonly items: readonly I[];
  readonly resourceVersion: string;
  /** Token of the next page; undefined on the last one. */
  readonly continue: string | undefined;
}

/**
 * The parsed body of a successful response.
 * @throws ApiError for any other status; TransportError `EBADBODY` if the body is not JSON, `ETOOLARGE` if it is
 * longer than any object.
 */
export async function bodyOf(response: TransportResponse): Promise<unknown> {
  const text = await textBodyOf(response);
  return parsed(text, () => `expected JSON, got ${JSON.stringify(text.slice(0, 80))}`);
}

/**
 * The page of a list in the body of a successful response. Each item is parsed and read as soon as it arrives; the page
 * holds only what `read` returns.
 * @throws what bodyOf() throws; TypeError if the body is not a list (meta/v1 `List`); what `read` throws.
 */
export async function listPageOf<I>(
  response: TransportResponse,
  read: (item: unknown) => I,
): Promise<ListPage<I>> {
  await expectSuccess(response);
  const items: I[] = [];
  const quoted = (text: string) =>
    `expected a list in JSON, got after ${items.length} items ${JSON.stringify(text.slice(-80))}`;
  const scanner = new ListScanner((text) => items.push(read(parsed(text, () => quoted(text)))));
  const chunks: AsyncIterable<Buffer> = response.body;
  for await (const chunk of chunks) scanner.write(chunk);
  const frame = scanner.end();
  return {
    ...decodeFrame(
      parsed(frame, () => quoted(frame)),
      items.length,
    ),
    items,
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
  await expectSuccess(response);
  return await textOf(response);
}

async function expectSuccess(response: TransportResponse): Promise<void> {
  if (response.status < 200 || response.status > 299) throw await errorOf(response);
}

async function textOf(response: TransportResponse): Promise<string> {
  const text = new ByteGatherer('an answer', MAX_OBJECT_BYTES);
  const chunks: AsyncIterable<Buffer> = response.body;
  for await (const chunk of chunks) text.append(chunk);
  return text.take();
}

function parsed(text: string, message: () => string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(message(), 'EBADBODY', cause);
  }
}

/** The metadata of a list whose frame has `count` placeholders for items. */
function decodeFrame(frame: unknown, count: number): Omit<ListPage<unknown>, 'items'> {
  if (typeof frame !== 'object' || frame === null || !('metadata' in frame)) {
    throw new TypeError('expected a list, got an object without metadata');
  }
  // Go writes a nil slice as null.
  const items = 'items' in frame ? (frame.items ?? []) : [];
  const metadata: unknown = frame.metadata;
  if (!Array.isArray(items) || items.length !== count || typeof metadata !== 'object' || metadata === null) {
    throw new TypeError('expected a list with one array of items and with metadata');
  }
  const resourceVersion = 'resourceVersion' in metadata ? metadata.resourceVersion : undefined;
  const token = 'continue' in metadata ? metadata.continue : undefined;
  if (typeof resourceVersion !== 'string') {
    throw new TypeError('expected a list with a metadata.resourceVersion');
  }
  return { resourceVersion, continue: typeof token === 'string' && token !== '' ? token : undefined };
}
