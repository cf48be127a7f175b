import type { JsonObject } from '../../util/json.ts';
import { typed } from './parts.ts';

/**
 * What keeps one client from taking the memory of a sidecar: a stream of HTTP/2 holds headers of up to 60 kB, which 20 bytes
 * on the wire can ask for. Sized for the memory limit of the templates that come with the operator, 512Mi. Not by the cgroup:
 * its figure has the cached pages of Envoy's own binary, and Envoy does not start where it finds none.
 */

/**
 * Of Envoy's heap, in bytes. Routes alone may take 220 MiB of it (src/addons/routes/README.md), which must not be the begin of
 * an overload. The rest of the limit is for its binary, the kernel's buffers, and what comes until Envoy looks again.
 */
const MAX_HEAP = 400 * 1024 * 1024;
const HEAP = 'envoy.resource_monitors.fixed_heap';

function at(share: number): readonly JsonObject[] {
  return [{ name: HEAP, threshold: { value: share } }];
}

/**
 * A connection of HTTP/2 that sends more while memory is short is closed, and new ones are not served: whoever holds the
 * memory has to send for more of it. Requests are refused last, the kubelet's among them: then the pod is not Ready.
 */
export const OVERLOAD: JsonObject = {
  overload_manager: {
    refresh_interval: '0.1s',
    resource_monitors: [
      typed(HEAP, 'extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig', {
        max_heap_size_bytes: MAX_HEAP,
      }),
    ],
    actions: [
      { name: 'envoy.overload_actions.shrink_heap', triggers: at(0.7) },
      { name: 'envoy.overload_actions.stop_accepting_requests', triggers: at(0.95) },
    ],
    loadshed_points: [
      { name: 'envoy.load_shed_points.http2_server_go_away_and_close_on_dispatch', triggers: at(0.75) },
      { name: 'envoy.load_shed_points.hcm_ondata_creating_codec', triggers: at(0.9) },
    ],
  },
};
