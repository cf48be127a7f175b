import type { JsonObject, JsonValue } from '../../json/json.ts';

const TYPE = 'type.googleapis.com/envoy';
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** Where the sidecar says whether it is ready, to the kubelet: its admin endpoint is for the pod alone. */
export const READINESS_PORT = 15021;

/** A filter, or a part of one, with its configuration: `type` without the part that all types begin with. */
export function typed(name: string, type: string, configuration: JsonObject = {}): JsonObject {
  return { name, typed_config: { '@type': `${TYPE}.${type}`, ...configuration } };
}

/** Addresses of a listener: of IPv4, and of IPv6 too where the pod has it. */
export function address(host: string, port: number): JsonObject {
  return { socket_address: { address: host, port_value: port } };
}

/** What an HTTP listener does with what it takes: by its routes, as long as it may take, 15 s being Envoy's own limit. */
export function httpFilter(name: string, routes: readonly JsonObject[], options: JsonObject): JsonObject {
  return typed(
    'http_connection_manager',
    'extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: name,
      stream_idle_timeout: '0s',
      ...options,
      route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] },
      http_filters: [typed('router', 'extensions.filters.http.router.v3.Router')],
    },
  );
}

/** For requests that the application is to answer. */
export const ACCESS_LOG: JsonObject = {
  access_log: [typed('stdout', 'extensions.access_loggers.stream.v3.StdoutAccessLog')],
};

/**
 * For connections that clients keep: each is given up after a while, with the response to a request, so that they have
 * gone elsewhere by the time that a pod whose Service has let it go ends (preStop in the template: 10 s).
 */
export const RENEWED: JsonObject = {
  common_http_protocol_options: { max_connection_duration: '5s' },
  http1_safe_max_connection_duration: true,
};

/** No request was sent where no connection was made: another try repeats nothing. */
export function patientRoute(target: JsonObject): JsonObject {
  return { ...target, timeout: '0s', retry_policy: { retry_on: 'connect-failure', num_retries: 3 } };
}

/** Of a cluster: it is spoken to as its client speaks to us, by HTTP/1.1 or HTTP/2 (gRPC). */
export function asItsClient(http1: JsonObject = {}): JsonObject {
  return {
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: {
        '@type': `${TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions`,
        use_downstream_protocol_config: { http_protocol_options: http1, http2_protocol_options: {} },
      },
    },
  };
}

/** A cluster of one address, or of those that a name has. */
export function cluster(name: string, type: 'STATIC' | 'STRICT_DNS', endpoint: JsonValue): JsonObject {
  return {
    name,
    type,
    // Longer than the kernel waits before it asks a second and a third time, after 1 s and 3 s.
    connect_timeout: '5s',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: endpoint } }] }],
    },
  };
}
