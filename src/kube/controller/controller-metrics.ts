/** How a reconcile ended: the values of controller-runtime's label `result`, and `terminal`. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after' | 'terminal';

/** Called by a controller for the `controller_runtime_*` metrics. */
export interface ControllerMetrics {
  /** The number of workers, reported when they start: `max_concurrent_reconciles`. */
  maxConcurrentReconciles(workers: number): void;
  /** The number of workers that are reconciling: `active_workers`. */
  activeWorkers(workers: number): void;
  /**
   * A reconcile ended: `reconcile_total` by result, `reconcile_time_seconds`, and, when the result is `error` or
   * `terminal`, `reconcile_errors_total`.
   */
  reconciled(result: ReconcileResult, seconds: number): void;
}
