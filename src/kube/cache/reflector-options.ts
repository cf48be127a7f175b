import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';
import type { BackoffDelays } from '../util/backoff.ts';
import type { Clock } from '../workqueue/clock.ts';

/**
 * Called with a failure that is handled, for logs and metrics. Either a list or a watch failed, which is retried. Or an
 * object could not be read (`decode`, `transform` or an index function threw); its last state stays in the cache.
 */
export type OnReflectorError = (error: unknown, doing: 'list' | 'watch' | 'read') => void;

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'watch'> & Partial<Pick<KubeClient, 'cacheMetrics'>>;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Applied before an object is cached. It can drop unused fields, which saves memory. */
  readonly transform?: (object: T) => T;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly onError: OnReflectorError;
  readonly backoff?: Partial<BackoffDelays>;
  /** A watch without any event for this time is considered dead; default 150 s. A bookmark comes each minute. */
  readonly stallMs?: number;
  /** Limit for one page of a list; default 90 s. The server times out after 60 s. */
  readonly listTimeoutMs?: number;
  /** Objects in one page of a list. Default 500, or all objects if pages would bypass the server's cache. */
  readonly pageSize?: number;
  /**
   * Gets the first state as a stream of single objects (KEP-3157), so that neither side holds it as one text. If the
   * server does not support streams, a list follows. Default true.
   */
  readonly watchList?: boolean;
}
