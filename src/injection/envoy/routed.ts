import type { JsonObject } from '../../util/json.ts';
import { address, httpFilter, ownRoutes, patientRoute, typed } from './parts.ts';

/**
 * The parts of transparent.json by which its outbound HTTP follows routes. The routes are in one file, a
 * RouteConfiguration (src/addons/routes/compile). It has a host for each destination with routes, and says the address of each backend.
 */

/** The original destination of a request, such as 10.96.0.7:80. Chooses the host. */
export const DESTINATION_HEADER = 'x-envoy-initializer-destination';
/** The cluster that sends a request to the address of {@link backendAddress}. */
export const ROUTED = 'routed';
/** The cluster that sends the copy of a request to the address in MIRROR_HEADER. */
export const MIRRORED = 'mirrored';
export const MIRROR_HEADER = 'x-envoy-initializer-mirror';
/** The RouteConfiguration, its last host, and the listener and cluster for what is not routed. */
export const OUTBOUND = 'outbound';
/** The host of the readiness listener. It has its routes in the same file, to say which version of it is in use. */
export const READINESS = 'readiness';
/** The runtime key of a drain, and the directory that the pod's annotation is mounted in. */
const DRAIN = 'drain';
/**
 * Reads the drain from a directory that the pod mounts within that of this configuration. Envoy does without the
 * directory, but not without the one above. The kubelet replaces the link `..data`, and Envoy watches it.
 */
export const DRAIN_LAYER: JsonObject = {
  name: DRAIN,
  disk_layer: { symlink_root: '/etc/envoy/..data', subdirectory: DRAIN },
};
/** Its routes: whether Envoy is ready, and which version of the file it has taken. */
export const READY_ROUTES: readonly JsonObject[] = [
  // The probability in percent, which the operator sets before it changes the sidecar.
  {
    match: { path: '/ready', runtime_fraction: { default_value: { numerator: 0 }, runtime_key: DRAIN } },
    direct_response: { status: 503, body: { inline_string: 'draining' } },
  },
  { match: { path: '/ready' }, route: { cluster: 'admin' } },
];

/** Answers 500, for shares of requests whose backend does not exist; of 503, Envoy makes UNAVAILABLE for a call of gRPC. */
const REFUSAL_HOST = '127.0.0.1';
const REFUSAL_PORT = 15002;
export const REFUSAL = `${REFUSAL_HOST}:${REFUSAL_PORT}`;

/** Where the pod mounts the routes. */
export const ROUTES_DIRECTORY = '/etc/envoy-routes';
export const ROUTES_FILE = 'rds.json';

/** Send a request to where it was going. */
export function directRoutes(cluster: string): readonly JsonObject[] {
  const route = patientRoute({ cluster });
  return [
    { match: { connect_matcher: {} }, route },
    { match: { prefix: '/' }, route },
  ];
}

const FRAME: JsonObject = {
  '@type': 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  name: OUTBOUND,
  vhost_header: DESTINATION_HEADER,
  request_headers_to_remove: [DESTINATION_HEADER],
};

/** The file for hosts, each the text of a VirtualHost. Its last host sends all else to where it was going. */
export function routesFile(hosts: readonly string[], version: string): string {
  const told = { status: 200, body: { inline_string: version } };
  const ready = [...READY_ROUTES, { match: { path: '/routes' }, direct_response: told }];
  const all = [
    ...hosts,
    JSON.stringify({ name: READINESS, domains: [READINESS], routes: ready }),
    JSON.stringify({ name: OUTBOUND, domains: ['*'], routes: directRoutes(OUTBOUND) }),
  ];
  const head = JSON.stringify(FRAME).slice(0, -1);
  return `{"resources":[${head},"virtual_hosts":[\n${all.join(',\n')}\n]}]}\n`;
}

/** For a pod whose namespace has no file of routes yet. */
export const NO_ROUTES = routesFile([], 'none');

/** Takes the routes from the file, and the host by `destination`, whatever a client wrote. */
export function fileRoutes(destination: string): JsonObject {
  const append = {
    header: { key: DESTINATION_HEADER, value: destination },
    append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
  };
  return {
    early_header_mutation_extensions: [
      typed('destination', 'extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation', {
        mutations: [{ append }],
      }),
    ],
    rds: {
      route_config_name: OUTBOUND,
      config_source: {
        resource_api_version: 'V3',
        path_config_source: {
          path: `${ROUTES_DIRECTORY}/${ROUTES_FILE}`,
          // The kubelet replaces the link `..data`.
          watched_directory: { path: ROUTES_DIRECTORY },
        },
      },
    },
  };
}

export const REFUSAL_LISTENER: JsonObject = {
  name: 'refusal',
  address: address(REFUSAL_HOST, REFUSAL_PORT),
  filter_chains: [
    {
      filters: [
        httpFilter(
          'refusal',
          ownRoutes('refusal', [
            { match: { prefix: '/', grpc: {} }, direct_response: { status: 503 } },
            { match: { prefix: '/' }, direct_response: { status: 500 } },
          ]),
        ),
      ],
    },
  ],
};

const ADDRESS_FILTER = 'backend';
const SET_STATE = 'extensions.filters.http.set_filter_state.v3.Config';

/** The filter by which a route says the address of its backend. Only a route has the address. */
export const ADDRESS: JsonObject = { ...typed(ADDRESS_FILTER, SET_STATE), disabled: true };

const CORS_FILTER = 'cors';
const CORS_TYPE = 'extensions.filters.http.cors.v3';

/** The filter CORS, which does nothing for a route without {@link corsPolicy}. */
export const CORS: JsonObject = typed(CORS_FILTER, `${CORS_TYPE}.Cors`);

/** The option of a route that says which origins may read its answers. */
export function corsPolicy(policy: JsonObject): JsonObject {
  return { [CORS_FILTER]: { '@type': `type.googleapis.com/envoy.${CORS_TYPE}.CorsPolicy`, ...policy } };
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
  const filter = { '@type': `type.googleapis.com/envoy.${SET_STATE}`, on_request_headers: [value] };
  return { [ADDRESS_FILTER]: filter };
}

const UNLIMITED = 4_294_967_295;

/** For a cluster that has all backends. */
export const NO_LIMITS: JsonObject = {
  circuit_breakers: {
    thresholds: [
      {
        max_connections: UNLIMITED,
        max_pending_requests: UNLIMITED,
        max_requests: UNLIMITED,
        max_retries: UNLIMITED,
      },
    ],
  },
};

/** For the cluster MIRRORED, which never tries again. */
export const MIRROR_ADDRESS: JsonObject = {
  original_dst_lb_config: { use_http_header: true, http_header_name: MIRROR_HEADER },
};

/** Removes the header from a request whose address has been chosen. */
export const MIRROR_FILTERS: JsonObject = {
  http_filters: [
    typed('mirror', 'extensions.filters.http.header_mutation.v3.HeaderMutation', {
      mutations: { request_mutations: [{ remove: MIRROR_HEADER }] },
    }),
    typed('upstream_codec', 'extensions.filters.http.upstream_codec.v3.UpstreamCodec'),
  ],
};

/** What the bootstrap has beside its listeners and clusters. */
export const ROUTES_BOOTSTRAP: JsonObject = {
  // Envoy reads no file of routes without a name of its own.
  node: { id: 'sidecar', cluster: 'sidecar' },
  // By default, Envoy refuses all but short regular expressions. The operator checks them before.
  layered_runtime: {
    layers: [{ name: 'regex', static_layer: { 're2.max_program_size.error_level': UNLIMITED } }, DRAIN_LAYER],
  },
};
