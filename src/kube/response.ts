import { type ApiError, apiErrorFrom, TransportError } from './api-error.ts';
import type { TransportResponse } from './transport.ts';

/** One page of a list, its items not yet narrowed: who reads them decides what a bad one means. */
export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  /** Token of the next page; undefined on the last one. */
  readonly continue: string | undefined;
}

/**
 * The parsed body of a successful response.
 * @throws ApiError for any other status; TransportError `EBADBODY` where the body is no JSON.
 */
export async function bodyOf(response: TransportResponse): Promise<unknown> {
  if (response.status < 200 || response.status > 299) throw await errorOf(response);
  const text = await response.body.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`expected JSON, got ${JSON.stringify(text.slice(0, 80))}`, 'EBADBODY', cause);
  }
}

/** What a response that is no success says; its body is read to the end. */
export async function errorOf(response: TransportResponse): Promise<ApiError> {
  const text = await response.body.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's error page: quoted as it is.
  }
  return apiErrorFrom(response.status, body, response.header('retry-after'));
}

/** Throws a TypeError for anything that is no list (meta/v1 `List`). */
export function narrowList(value: unknown): ListPage {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) {
    throw new TypeError('expected a list, got an object without metadata');
  }
  // Go writes an empty slice that was never made as null.
  const items = 'items' in value ? (value.items ?? []) : [];
  const metadata: unknown = value.metadata;
  if (!Array.isArray(items) || typeof metadata !== 'object' || metadata === null) {
    throw new TypeError('expected a list, got no array of items');
  }
  const resourceVersion = 'resourceVersion' in metadata ? metadata.resourceVersion : undefined;
  const token = 'continue' in metadata ? metadata.continue : undefined;
  if (typeof resourceVersion !== 'string') {
    throw new TypeError('expected a list with a metadata.resourceVersion');
  }
  return { items, resourceVersion, continue: typeof token === 'string' && token !== '' ? token : undefined };
}
