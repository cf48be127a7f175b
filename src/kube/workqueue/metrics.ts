/** Called for each event of a queue. Durations are in seconds, as in Prometheus. */
export interface QueueMetrics {
  /** A key was added that was not in the queue: `workqueue_adds_total`. */
  added(): void;
  /** A key was handed out, this long after it was added: `workqueue_queue_duration_seconds`. */
  queueDuration(seconds: number): void;
  /** A key was done, this long after it was handed out: `workqueue_work_duration_seconds`. */
  workDuration(seconds: number): void;
  /** A key was added with a delay, after a failure or by request: `workqueue_retries_total`. */
  retried(): void;
}

/** The state of a queue, computed at each scrape, without a timer. */
export interface QueueGauges {
  /** Keys in the queue, including those in work that will be queued again: `workqueue_depth`. */
  readonly depth: number;
  /** Sum of the times that the keys in work have taken so far: `workqueue_unfinished_work_seconds`. */
  readonly unfinishedWorkSeconds: number;
  /** Time that the oldest key in work has taken so far: `workqueue_longest_running_processor_seconds`. */
  readonly longestRunningProcessorSeconds: number;
}
