import type { JsonObject, JsonValue } from '../../util/json.ts';

const TYPE = 'type.googleapis.com/envoy';
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** The port on which the kubelet checks readiness: the admin endpoint is only for the pod. */
export const READINESS_PORT = 15021;
/** The port of the metrics. */
export const METRICS_PORT = 15090;

/** A filter, or a part of one, with its configuration. `type` omits the common prefix of all types. */
export function typed(name: string, type: string, configuration: JsonObject = {}): JsonObject {
  return { name, typed_config: { '@type': `${TYPE}.${type}`, ...configuration } };
}

/** The addresses of a listener: IPv4, and IPv6 if the pod has it. */
export function address(host: string, port: number): JsonObject {
  return { socket_address: { address: host, port_value: port } };
}

/** The routes of a listener that has one host. */
export function ownRoutes(name: string, routes: readonly JsonObject[]): JsonObject {
  return { route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] } };
}

/** The filter of an HTTP listener. `options` has its routes. */
export function httpFilter(
  name: string,
  options: JsonObject,
  filters: readonly JsonObject[] = [],
): JsonObject {
  return typed(
    'http_connection_manager',
    'extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: name,
      stream_idle_timeout: '0s',
      // As servers in Go have it: one connection holds headers of 15 MB at most (Envoy: 1024 streams).
      http2_protocol_options: { max_concurrent_streams: 250 },
      ...options,
      http_filters: [...filters, typed('router', 'extensions.filters.http.router.v3.Router')],
    },
  );
}

/** The access log, and what counts requests. */
export function accessLog(metrics: JsonObject): JsonObject {
  return { access_log: [typed('stdout', 'extensions.access_loggers.stream.v3.StdoutAccessLog'), metrics] };
}

/**
 * Closes connections that clients keep open after a while, with the response to a request. Thus clients have moved to
 * other pods before a pod that left its Service ends (preStop in the template: 10 s).
 */
export const RENEWED: JsonObject = {
  common_http_protocol_options: { max_connection_duration: '5s' },
  http1_safe_max_connection_duration: true,
};

/** Retries failed connections: no request was sent, so nothing is repeated. */
export const PATIENCE: JsonObject = { retry_on: 'connect-failure', num_retries: 3 };

/** Has no timeout (Envoy: 15 s). */
export function patientRoute(target: JsonObject): JsonObject {
  return { ...target, timeout: '0s', retry_policy: PATIENCE };
}

/**
 * Options of a cluster. It uses the protocol of the client, HTTP/1.1 or HTTP/2 (gRPC). It closes an idle connection before
 * the server does (gunicorn: after 2 s, Node: 5 s). A request that meets the server's end of it would get 503.
 */
export function asItsClient(http1: JsonObject = {}, options: JsonObject = {}): JsonObject {
  return {
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: {
        '@type': `${TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions`,
        common_http_protocol_options: { idle_timeout: '1s' },
        use_downstream_protocol_config: { http_protocol_options: http1, http2_protocol_options: {} },
        ...options,
      },
    },
  };
}

/** A cluster with one address, or with the addresses of a name. */
export function cluster(name: string, type: 'STATIC' | 'STRICT_DNS', endpoint: JsonValue): JsonObject {
  return {
    name,
    type,
    // The kernel retries a connection after 1 s and 3 s: wait longer.
    connect_timeout: '5s',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: endpoint } }] }],
    },
  };
}
