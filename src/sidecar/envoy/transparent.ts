import type { JsonObject } from '../../json/json.ts';
import { ACCESS_LOG, address, asItsClient, httpFilter, patientRoute, RENEWED, typed } from './parts.ts';

/** Where the rules of capture.sh send the connections that come into a pod, and those that go out. */
export const INBOUND_PORT = 15006;
export const OUTBOUND_PORT = 15001;

/** As clients write them: the application and its peers are to see no difference. */
const KEPT_CASE: JsonObject = {
  header_key_format: {
    stateful_formatter: typed(
      'preserve_case',
      'extensions.http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig',
    ),
  },
};

export const CAPTURE_LISTENERS: readonly JsonObject[] = [
  listener('inbound', INBOUND_PORT, {
    ...ACCESS_LOG,
    ...RENEWED,
    // The address of the client goes on in X-Forwarded-For.
    use_remote_address: true,
  }),
  listener('outbound', OUTBOUND_PORT, {
    ...ACCESS_LOG,
    // Whoever is asked is to see the application's request, and nothing of ours.
    skip_xff_append: true,
    generate_request_id: false,
  }),
];

export const CAPTURE_CLUSTERS: readonly JsonObject[] = [
  original('inbound'),
  original('outbound'),
  // Of no address: whoever is sent there is turned away.
  { name: 'nowhere', type: 'STATIC', load_assignment: { cluster_name: 'nowhere' } },
];

/**
 * Takes connections that were on their way elsewhere, and makes them to where they were to go: HTTP, which is recognized
 * by its first bytes, as requests, and all else as it is.
 */
function listener(name: 'inbound' | 'outbound', port: number, options: JsonObject): JsonObject {
  const route = patientRoute({ cluster: name });
  const http = httpFilter(
    name,
    [
      { match: { connect_matcher: {} }, route },
      { match: { prefix: '/' }, route },
    ],
    {
      ...options,
      http_protocol_options: {
        accept_http_10: true,
        default_host_for_http_10: 'localhost',
        ...KEPT_CASE,
      },
      // CONNECT is what applications ask of an HTTP proxy.
      upgrade_configs: [{ upgrade_type: 'websocket' }, { upgrade_type: 'CONNECT' }],
    },
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
    // Where the server is the first to speak, its client is silent for so long.
    listener_filters_timeout: '1s',
    continue_on_listener_filters_timeout: true,
    filter_chains: [
      // Nobody redirected it: to go on to where it was to go would be to come here again, and so on.
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

/** Where the connection was to go, by the kernel's own word. */
function original(name: string): JsonObject {
  return {
    name,
    type: 'ORIGINAL_DST',
    lb_policy: 'CLUSTER_PROVIDED',
    connect_timeout: '10s',
    ...asItsClient(KEPT_CASE),
  };
}
