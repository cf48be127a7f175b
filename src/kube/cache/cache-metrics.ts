/** Called by caches to report how fresh they are. */
export interface CacheMetrics {
  /** A cache of the resource (its plural name) starts to list and watch. */
  started(resource: string): CacheContact;
}

/** Called by one cache to report how fresh it is. */
export interface CacheContact {
  /** A list of all objects or an event of a watch has arrived; bookmarks count. */
  heard(): void;
  /** The cache is no longer updated. */
  ended(): void;
}
