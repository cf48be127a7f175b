import type { Dispatcher } from 'undici';
import { toError } from '../util/errors.ts';

/**
 * A dispatcher that calls `guard` when a connection takes a request: the request may have waited for the connection
 * for a long time. If `guard` throws, the request fails with that error and nothing is sent.
 */
export function guardedDispatcher(dispatcher: Dispatcher, guard: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => dispatch(options, asking(handler, guard)));
}

function asking(handler: Dispatcher.DispatchHandler, guard: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      try {
        guard();
      } catch (error) {
        controller.abort(toError(error));
        return;
      }
      handler.onRequestStart?.(controller, context);
    },
    onResponseStart: (...head) => handler.onResponseStart?.(...head),
    onResponseData: (...chunk) => handler.onResponseData?.(...chunk),
    onResponseEnd: (...trailers) => handler.onResponseEnd?.(...trailers),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}
