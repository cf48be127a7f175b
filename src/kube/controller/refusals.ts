import { type ApiError, isRefused } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import type { EventRecorder } from '../events/events.ts';
import type { Reconcile } from './controller.ts';

/** The reason of the Event. */
export const REQUEST_REFUSED = 'RequestRefused' as const;

/**
 * The reconcile, with an Event on the object that waits for it when the API server refuses a request, such as by an
 * admission policy. The error is thrown on.
 */
export function tellingRefusals(
  reconcile: Reconcile,
  events: EventRecorder,
  waiting: (key: ObjectKey) => KubeObject | undefined,
): Reconcile {
  return async (key, signal) => {
    try {
      return await reconcile(key, signal);
    } catch (error) {
      const refusal = refusalIn(error);
      const object = refusal && waiting(key);
      if (object) tellRefusal(events, object, refusal);
      throw error;
    }
  };
}

/** Records an Event on the object that waits for the request. */
export function tellRefusal(events: EventRecorder, object: KubeObject, { message }: ApiError): void {
  const note = `the API server refuses a request of the operator, which retries it: ${message}`;
  events.event(object, {
    type: 'Warning',
    reason: REQUEST_REFUSED,
    action: 'Reconcile',
    note,
    eachNote: true,
  });
}

/** The refusal that an error is, or that one of its causes is. */
function refusalIn(error: unknown): ApiError | undefined {
  if (isRefused(error)) return error;
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return causes.find(isRefused);
}
