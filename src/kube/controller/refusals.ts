import { type ApiError, isRefused } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import type { EventRecorder } from '../events/events.ts';

/** The reason of the Event. */
export const REQUEST_REFUSED = 'RequestRefused' as const;

/**
 * Records an Event on the object that waits for a request which the API server refuses, such as by an admission policy.
 */
export function tellRefusal(events: EventRecorder, object: KubeObject, { message }: ApiError): void {
  const note = `the API server refused a request from the operator, which is retrying it: ${message}`;
  events.event(object, {
    type: 'Warning',
    reason: REQUEST_REFUSED,
    action: 'Reconcile',
    note,
    eachNote: true,
  });
}

/** The refusal that an error is, or that one of its causes is. */
export function refusalIn(error: unknown): ApiError | undefined {
  if (isRefused(error)) return error;
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return causes.find(isRefused);
}
