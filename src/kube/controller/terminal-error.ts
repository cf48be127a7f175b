/**
 * Thrown by a reconcile when a retry cannot help until something changes: it is logged once and not retried
 * (controller-runtime's `reconcile.TerminalError`).
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}
