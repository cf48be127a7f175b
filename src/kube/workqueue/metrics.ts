/** What happens to a queue, told as it happens. Durations are in seconds, as Prometheus has them. */
export interface QueueMetrics {
  /** A key was added that was not waiting already: `workqueue_adds_total`. */
  added(): void;
  /** A key was handed out so long after it was added: `workqueue_queue_duration_seconds`. */
  queueDuration(seconds: number): void;
  /** A key was done so long after it was handed out: `workqueue_work_duration_seconds`. */
  workDuration(seconds: number): void;
  /** A key was to come back later, after a failure or by request: `workqueue_retries_total`. */
  retried(): void;
}

/** The state of a queue, worked out when it is read: a scrape costs one look, and no timer runs for it. */
export interface QueueGauges {
  /** Keys waiting to be handed out, and those to be handed out again once done: `workqueue_depth`. */
  readonly depth: number;
  /** How long all keys in work have been so, added up: `workqueue_unfinished_work_seconds`. */
  readonly unfinishedWorkSeconds: number;
  /** How long the oldest key in work has been so: `workqueue_longest_running_processor_seconds`. */
  readonly longestRunningProcessorSeconds: number;
}
