import type { Dispatcher } from 'undici';
import { toError } from '../util/to-error.ts';

/**
 * The dispatcher, which asks `mayStart` at the moment at which a connection takes a request: a request may have waited
 * for that connection for a long time. What `mayStart` throws ends the request before a byte of it is sent.
 */
export function askAtStart(dispatcher: Dispatcher, mayStart: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => dispatch(options, asking(handler, mayStart)));
}

function asking(handler: Dispatcher.DispatchHandler, mayStart: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      try {
        mayStart();
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
