import type { JsonObject } from '../../util/json.ts';

/**
 * What deploy/envoy/transparent.json and the files of routes (src/addons/routes/compile) agree on. A file is a RouteConfiguration. It has
 * a host for each destination with routes, and says the address of each backend.
 */

/** The original destination of a request, such as 10.96.0.7:80. Chooses the host. */
export const DESTINATION_HEADER = 'x-envoy-initializer-destination';
/** The cluster that sends a request to the address of {@link backendAddress}. */
export const ROUTED = 'routed';
/** The cluster that sends the copy of a request to the address in MIRROR_HEADER. */
export const MIRRORED = 'mirrored';
export const MIRROR_HEADER = 'x-envoy-initializer-mirror';
/** The RouteConfiguration, its last host, and the cluster for what is not routed. */
export const OUTBOUND = 'outbound';
/** The host of the readiness listener. It has its routes in the same file, to say which version of it is in use. */
const READINESS = 'readiness';
/** Answers 500, for shares of requests whose backend does not exist; of 503, Envoy makes UNAVAILABLE for a call of gRPC. */
export const REFUSAL = '127.0.0.1:15002';
/** In the metadata of a route: the names of its backends by their addresses, for the metrics. */
export const BACKENDS = 'backends';
/** Where the pod mounts the routes. */
export const ROUTES_DIRECTORY = '/etc/envoy-routes';
export const ROUTES_FILE = 'rds.json';

/** Retries failed connections: no request was sent, so nothing is repeated. */
export const PATIENCE: JsonObject = { retry_on: 'connect-failure', num_retries: 3 };

/** Whether Envoy is ready, and which version of the file it has taken. */
function readyRoutes(version: string): readonly JsonObject[] {
  return [
    // The probability in percent, which the operator sets before it changes the sidecar.
    {
      match: { path: '/ready', runtime_fraction: { default_value: { numerator: 0 }, runtime_key: 'drain' } },
      direct_response: { status: 503, body: { inline_string: 'draining' } },
    },
    { match: { path: '/ready' }, route: { cluster: 'admin' } },
    { match: { path: '/routes' }, direct_response: { status: 200, body: { inline_string: version } } },
  ];
}

/** Send a request to where it was going, without a timeout (Envoy: 15 s). */
export function directRoutes(cluster: string): readonly JsonObject[] {
  const route = { cluster, timeout: '0s', retry_policy: PATIENCE };
  return [
    { match: { connect_matcher: {} }, route },
    { match: { prefix: '/' }, route },
  ];
}

/** The file for hosts, each the text of a VirtualHost. Its last host sends all else to where it was going. */
export function routesFile(hosts: readonly string[], version: string): string {
  const all = [
    ...hosts,
    JSON.stringify({ name: READINESS, domains: [READINESS], routes: readyRoutes(version) }),
    JSON.stringify({ name: OUTBOUND, domains: ['*'], routes: directRoutes(OUTBOUND) }),
  ];
  const frame = JSON.stringify({
    '@type': 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
    name: OUTBOUND,
    vhost_header: DESTINATION_HEADER,
    request_headers_to_remove: [DESTINATION_HEADER],
  });
  return `{"resources":[${frame.slice(0, -1)},"virtual_hosts":[\n${all.join(',\n')}\n]}]}\n`;
}

/** For a pod whose namespace has no file of routes yet: deploy/envoy/no-routes. */
export const NO_ROUTES = routesFile([], 'none');

/** The option of a route that says which origins may read its answers. */
export function corsPolicy(policy: JsonObject): JsonObject {
  return {
    cors: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy', ...policy },
  };
}

/**
 * The option of a route that gives {@link ROUTED} an address. Unlike a header, it is still there when the connection
 * fails and Envoy tries again, and clients cannot write it.
 */
export function backendAddress(to: string): JsonObject {
  const value = {
    object_key: 'envoy.network.transport_socket.original_dst_address',
    format_string: { text_format_source: { inline_string: to } },
  };
  const type = 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config';
  return { backend: { '@type': type, on_request_headers: [value] } };
}
