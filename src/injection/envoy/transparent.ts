import type { JsonObject } from '../../util/json.ts';
import { INBOUND_METRICS, ROUTE_METRICS } from './metrics.ts';
import { accessLog, address, asItsClient, httpFilter, ownRoutes, RENEWED, typed } from './parts.ts';
import {
  ADDRESS,
  CORS,
  directRoutes,
  fileRoutes,
  MIRROR_ADDRESS,
  MIRROR_FILTERS,
  MIRRORED,
  NO_LIMITS,
  OUTBOUND,
  REFUSAL_LISTENER,
  ROUTED,
} from './routed.ts';

/** The ports to which the rules of capture.sh send inbound and outbound connections of a pod. */
export const INBOUND_PORT = 15006;
export const OUTBOUND_PORT = 15001;

/** Header names as clients write them, so that the application and its peers see no difference. */
const KEPT_CASE: JsonObject = {
  header_key_format: {
    stateful_formatter: typed(
      'preserve_case',
      'extensions.http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig',
    ),
  },
};

export const CAPTURE_LISTENERS: readonly JsonObject[] = [
  listener(
    'inbound',
    INBOUND_PORT,
    {
      ...accessLog(INBOUND_METRICS),
      ...RENEWED,
      // Forwards the address of the client in X-Forwarded-For.
      use_remote_address: true,
    },
    ownRoutes('inbound', directRoutes('inbound')),
  ),
  listener(
    OUTBOUND,
    OUTBOUND_PORT,
    {
      ...accessLog(ROUTE_METRICS),
      // The peer sees the application's request without our headers.
      skip_xff_append: true,
      generate_request_id: false,
    },
    fileRoutes('%DOWNSTREAM_LOCAL_ADDRESS%'),
    [CORS, ADDRESS],
  ),
  REFUSAL_LISTENER,
];

export const CAPTURE_CLUSTERS: readonly JsonObject[] = [
  original('inbound'),
  original(OUTBOUND),
  { ...original(ROUTED), ...NO_LIMITS },
  { ...original(MIRRORED, MIRROR_FILTERS), ...MIRROR_ADDRESS, ...NO_LIMITS },
  // Has no address, so Envoy closes connections to it.
  { name: 'nowhere', type: 'STATIC', load_assignment: { cluster_name: 'nowhere' } },
];

/**
 * Accepts redirected connections and forwards them to their original destination: HTTP, detected by its first bytes, as
 * requests, and all else unchanged.
 */
function listener(
  name: 'inbound' | 'outbound',
  port: number,
  options: JsonObject,
  routes: JsonObject,
  filters: readonly JsonObject[] = [],
): JsonObject {
  const http = httpFilter(
    name,
    {
      ...options,
      http_protocol_options: {
        accept_http_10: true,
        default_host_for_http_10: 'localhost',
        ...KEPT_CASE,
      },
      // Applications send CONNECT to an HTTP proxy.
      upgrade_configs: [{ upgrade_type: 'websocket' }, { upgrade_type: 'CONNECT' }],
      ...routes,
    },
    filters,
  );
  return {
    name,
    traffic_direction: name.toUpperCase(),
    address: address('0.0.0.0', port),
    additional_addresses: [{ address: address('::', port) }],
    listener_filters: [
      typed('original_dst', 'extensions.filters.listener.original_dst.v3.OriginalDst'),
      typed('http_inspector', 'extensions.filters.listener.http_inspector.v3.HttpInspector'),
    ],
    // If the server speaks first, its client stays silent: wait this long.
    listener_filters_timeout: '1s',
    continue_on_listener_filters_timeout: true,
    filter_chains: [
      // The connection was not redirected: forwarding it would loop back to this listener.
      { filter_chain_match: { destination_port: port }, filters: [tcp(name, 'nowhere')] },
      {
        filter_chain_match: { application_protocols: ['http/1.0', 'http/1.1', 'h2c'] },
        filters: [http],
      },
    ],
    default_filter_chain: { filters: [tcp(name, name)] },
  };
}

function tcp(name: string, cluster: string): JsonObject {
  return typed('tcp_proxy', 'extensions.filters.network.tcp_proxy.v3.TcpProxy', {
    stat_prefix: `${name}_tcp`,
    cluster,
    idle_timeout: '0s',
  });
}

/** A cluster for the original destination of a connection, as the kernel reports it. */
function original(name: string, options: JsonObject = {}): JsonObject {
  return {
    name,
    type: 'ORIGINAL_DST',
    lb_policy: 'CLUSTER_PROVIDED',
    connect_timeout: '10s',
    ...asItsClient(KEPT_CASE, options),
  };
}
