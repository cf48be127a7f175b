import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';
import type { BackoffDelays } from '../util/backoff.ts';
import type { Clock } from '../workqueue/clock.ts';

/**
 * Something went wrong and is being mended, for a log line and a counter: a list or a watch that failed, or an object
 * that could not be read (`narrow`, `transform` or an index function threw) and is left as it was last seen.
 */
export type OnReflectorError = (error: unknown, doing: 'list' | 'watch' | 'read') => void;

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'watch'> & Partial<Pick<KubeClient, 'cacheMetrics'>>;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Applied before an object is kept: drop what nobody reads, and memory stays small. */
  readonly transform?: (object: T) => T;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly onError: OnReflectorError;
  readonly backoff?: Partial<BackoffDelays>;
  /** Silence, bookmarks included, after which a watch is taken for dead: 150 s unless given; a bookmark comes each minute. */
  readonly stallMs?: number;
  /** Bound of one page of a list, 90 s unless given: the server itself gives up after 60 s. */
  readonly listTimeoutMs?: number;
  /** Objects in one page of a list. Unless given: 500, and all at once where pages would bypass the server's cache. */
  readonly pageSize?: number;
  /**
   * Gets the first state as a stream of single objects (KEP-3157), so that neither side ever holds it as one text;
   * a server that does not do that is asked for a list instead. True unless given.
   */
  readonly watchList?: boolean;
}
