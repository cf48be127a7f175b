import { type ApiError, isRefused } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import type { EventRecorder } from '../events/events.ts';
import type { Reconcile } from './controller.ts';

/** Tells what the API server refuses, such as by an admission policy. */
export interface RefusalTeller {
  readonly events: EventRecorder;
  /** The object that waits for the reconcile of a key; undefined if it is gone. */
  readonly waiting: (key: ObjectKey) => KubeObject | undefined;
}

/** The reason of the Event. */
export const REQUEST_REFUSED = 'RequestRefused' as const;

/** The reconcile, with an Event on the object that waits when the API server refuses a request. The error is thrown on. */
export function tellingRefusals(reconcile: Reconcile, { events, waiting }: RefusalTeller): Reconcile {
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
  const note = `the API server refuses a request of the operator, which tries it again: ${message}`;
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
