/** Is told how fresh caches are. */
export interface CacheMetrics {
  /** A cache of the resource, by its plural name, begins to list and watch. */
  started(resource: string): CacheContact;
}

/** Is told how fresh one cache is. */
export interface CacheContact {
  /** The API server has told of all objects, or an event of a watch came; bookmarks count. */
  heard(): void;
  /** The cache is not kept up to date any more. */
  ended(): void;
}
